#!/usr/bin/env python3
"""The scripts of gpu/ without torch and without a device: the wrapper speaks plait's C interface, the measuring does what its method says."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
os.environ["PLAIT_LIBCUDA"] = "/nonexistent/libcuda.so.1"


class Tensor:
    """What the wrapper asks of a tensor."""

    def __init__(self, shape, dtype="torch.float32", address=4096, is_cuda=True):
        self.shape, self.dtype, self.address, self.is_cuda = shape, dtype, address, is_cuda

    def dim(self):
        return len(self.shape)

    def stride(self):
        return [math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]

    def element_size(self):
        return 4

    def numel(self):
        return math.prod(self.shape)

    def storage_offset(self):
        return 0

    def untyped_storage(self):
        return types.SimpleNamespace(nbytes=lambda: self.numel() * 4)

    def data_ptr(self):
        return self.address


def fake_torch():
    torch = types.ModuleType("torch")
    torch.__file__ = "/nonexistent/torch/__init__.py"
    torch.__version__, torch.version = "0", types.SimpleNamespace(cuda="0")
    torch.Tensor = Tensor
    for name in ("float64", "float32", "float16", "bfloat16", "uint8"):
        setattr(torch, name, f"torch.{name}")
    torch.manual_seed = lambda seed: None
    torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()),
                                           cudnn=types.SimpleNamespace(version=lambda: 0))
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: True, current_stream=lambda: types.SimpleNamespace(cuda_stream=0), synchronize=lambda: None,
        empty_cache=lambda: None,
        get_device_properties=lambda device: types.SimpleNamespace(name="fake", multi_processor_count=1, L2_cache_size=50 << 20))
    return torch


sys.modules["torch"] = fake_torch()
sys.path.insert(0, str(ROOT / "gpu"))
import bench_common  # noqa: E402
import plait_gpu  # noqa: E402


class WrapperTest(unittest.TestCase):
    def roles(self, **given):
        return plait_gpu.Roles.file("softmax_rows", source_only=True, **given)

    def test_reads_what_was_compiled(self):
        roles = self.roles(columns=512)
        self.assertEqual(roles.name, "softmax_rows")
        self.assertIn("__global__", roles.source)
        self.assertEqual([p.name for p in roles.parameters], [b"X", b"Y"])
        self.assertEqual(roles.report["architecture"], "sm_90a")
        self.assertEqual(roles.cubin, b"")

    def test_refuses_wrong_programs_and_bindings(self):
        with self.assertRaisesRegex(plait_gpu.Error, "there is no architecture 'sm_1'"):
            self.roles(arch="sm_1")
        with self.assertRaisesRegex(plait_gpu.Error, "<text>:1:"):
            plait_gpu.Roles("roles")
        with self.assertRaisesRegex(plait_gpu.Error, "no role program nothing"):
            plait_gpu.Roles.file("nothing")

    def test_prepares_up_to_the_missing_driver(self):
        with self.assertRaisesRegex(plait_gpu.Error, "there is no NVIDIA driver here"):
            self.roles().prepare(Tensor([4, 1024]), Y=Tensor([4, 1024]))
        with self.assertRaisesRegex(plait_gpu.Error, "2 parameters, not 3"):
            self.roles().prepare(1, 2, 3)
        with self.assertRaisesRegex(plait_gpu.Error, "no element type for torch.complex64"):
            self.roles().prepare(Tensor([4, 1024], "torch.complex64"))


class MethodTest(unittest.TestCase):
    def test_the_interval_is_that_of_order_statistics(self):
        # Ranks 10 and 21 of 30 cover the median with 95.7 %.
        self.assertEqual(bench_common.median_interval(range(1, 31)), (15.5, 10, 21))
        self.assertEqual(bench_common.median_interval(range(1, 101)), (50.5, 40, 61))
        self.assertEqual(bench_common.median_interval([3, 1, 2]), (2, 1, 3))
        self.assertEqual(bench_common.median_interval([3]), (3, 3, 3))

    def test_sides_take_turns_and_a_ratio_above_one_is_faster(self):
        order = []

        class Window:
            def __init__(self, callables, launches):
                self.name, self.launches = callables[0], launches

            def ms(self, idle=bench_common.IDLE_SECONDS):
                if idle > 0:
                    order.append(self.name)
                return {"ours": 1.0, "peer": 1.5}[self.name]

        kept, bench_common.Window = bench_common.Window, Window
        try:
            result = bench_common.compare(["ours"], ["peer", "peer"], pairs=30, launches=5)
        finally:
            bench_common.Window = kept
        self.assertEqual(order[:4], ["ours", "peer", "peer", "ours"])
        self.assertEqual(len(order), 60)
        self.assertEqual((result["ratio"], result["low"], result["back_to_back"]), (1.5, 1.5, 1.5))
        self.assertEqual(result["launches"], 6)  # whole turns of the sets


SESSION = """
import sys
sys.path.insert(0, {here!r})
import scripts_test
import bench_common
session = bench_common.Session("demo")
assert session.set_count(50 << 20) == 4 and session.set_count(1 << 30) == 1
session.run("good", lambda row: row.note("fine", value=1))
session.run("slow", lambda row: None, needs=1e9)
session.run("missed", lambda row: row.set(met=False), bar=1.0)
if {fails}:
    session.run("broken", lambda row: 1 / 0)
session.finish()
"""


class SessionTest(unittest.TestCase):
    def run_session(self, *arguments, fails=True):
        with tempfile.TemporaryDirectory() as folder:
            script = SESSION.format(here=str(pathlib.Path(__file__).parent), fails=fails)
            done = subprocess.run([sys.executable, "-c", script, *arguments], cwd=folder, capture_output=True, text=True)
            path = pathlib.Path(folder) / "demo.json"
            return done, json.loads(path.read_text()) if path.exists() else None

    def test_writes_every_row_and_tells_failures(self):
        done, data = self.run_session()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([row["name"] for row in data["rows"]], ["good", "slow", "missed", "broken"])
        self.assertIn("are needed", data["rows"][1]["skipped"])
        self.assertIn("ZeroDivisionError", data["rows"][3]["error"])
        self.assertIn("MISSED", done.stdout)
        self.assertIn("FAILED ZeroDivisionError", done.stdout)

    def test_runs_only_what_is_asked_for(self):
        done, data = self.run_session("--only", "good")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["name"] for row in data["rows"]], ["good"])


if __name__ == "__main__":
    unittest.main()

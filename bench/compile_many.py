"""Time to compile 64 different kernels of the library for sm_90a, cold and from the folder of compiled code.

    bench/compile_many.py [--plait build/release/tools/plait/plait] [--jobs N] [--planner rules] [--record FILE.json]

Needs NVRTC and no GPU. Prints how long all took, what plait itself took of each kernel (all but NVRTC), and what a
kernel takes that is there already. The planner is that of loops whose author says nothing; `rules` leaves out how long
planning takes, which `plait plan` and docs/planners.md are about.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def kernels():
    """A line of `plait cache add --list` for each."""
    lines = []

    def add(name, **bindings):
        words = " ".join(f"-D {key}={value}" for key, value in bindings.items())
        lines.append(f"{ROOT}/kernels/{name}.tile {words}")

    for name in ("matmul", "matmul_nt", "matmul_tn"):
        for dtype in ("f16", "bf16"):
            for m, n in ((128, 128), (128, 64), (64, 64), (64, 128), (128, 256)):
                add(name, dtype=dtype, block_M=m, block_N=n)
    for dtype in ("f16", "bf16"):
        for act in range(4):
            add("matmul_bias_act", dtype=dtype, act=act)
    for name in ("softmax", "rmsnorm", "layernorm", "transpose", "gemv"):
        for dtype in ("f32", "f16", "bf16"):
            add(name, dtype=dtype)
    for d in (64, 128):
        for causal in ("false", "true"):
            add("attention", dtype="bf16", D=d, causal=causal, block_M=128, block_N=128)
    for dtype in ("f32", "f16"):
        add("cumsum", dtype=dtype)
    add("conv2d", dtype="f16")
    for name in ("topk", "histogram", "mamba2_chunk_scan", "mamba2_chunk_state"):
        add(name)
    return lines


def run(options, listing, folder):
    command = [options.plait, "cache", "add", "--list", listing, "--folder", folder, "--jobs", str(options.jobs)]
    command += ["--planner", options.planner, "--times", "--json"]
    environment = dict(os.environ, PLAIT_STORE="none")
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def times(report):
    """Of each kernel: plait's own milliseconds, and NVRTC's."""
    own = [sum(ms for step, ms in k["ms"].items() if step != "nvrtc") for k in report["kernels"]]
    return own, [k["ms"].get("nvrtc", 0) for k in report["kernels"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plait", default=str(ROOT / "build/release/tools/plait/plait"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--planner", default="rules")
    parser.add_argument("--record")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        listing = os.path.join(folder, "list")
        lines = kernels()
        pathlib.Path(listing).write_text("\n".join(lines) + "\n")
        cold = run(options, listing, os.path.join(folder, "code"))
        warm = run(options, listing, os.path.join(folder, "code"))
    assert not any(k["cached"] for k in cold["kernels"]) and all(k["cached"] for k in warm["kernels"])
    own, nvrtc = times(cold)
    found, _ = times(warm)
    slow = sorted(zip(own, lines), reverse=True)
    print(f"{len(lines)} kernels on {options.jobs} threads of {platform.processor() or platform.machine()}")
    print(f"cold: {cold['seconds']:.2f} s in all; NVRTC {sum(nvrtc) / 1e3:.2f} s, plait {sum(own) / 1e3:.2f} s of threads")
    print(f"plait itself: {statistics.median(own):.1f} ms a kernel (median), {max(own):.1f} ms at most")
    over = [f"  {ms:.0f} ms {line.split('/')[-1]}" for ms, line in slow if ms > 60]
    print(f"over 60 ms: {len(over)}" + "".join("\n" + line for line in over))
    print(f"warm: {statistics.median(found):.2f} ms a kernel (median), {max(found):.2f} ms at most; "
          f"{warm['seconds']:.2f} s in all")
    if options.record:
        record = {"jobs": options.jobs, "planner": options.planner, "cold_s": cold["seconds"],
                  "warm_s": warm["seconds"], "own_ms": own, "nvrtc_ms": nvrtc, "warm_ms": found, "kernels":
                  [line[len(str(ROOT)) + 1:] for line in lines]}
        pathlib.Path(options.record).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

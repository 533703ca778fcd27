"""What gpu/bench_complete.py measures, without torch: kernels, shapes, tilings. Run alone it compiles every tiling for the device, needs no GPU and says which are
refused:

    python gpu/complete_cases.py [--only NAME] [--device h200]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent


@dataclass(frozen=True)
class Case:
    """One row of the table: the fastest of the tilings counts."""

    name: str
    kernel: str
    dims: dict
    peer: str
    bar: float | None
    tilings: list
    dtype: str = "bf16"


def tilings(**lists):
    """Compile-time parameters, and a schedule where there is one, from lists of equal length; a single value stands for all."""
    length = max(len(values) for values in lists.values() if isinstance(values, list))
    return [{key: values[i] if isinstance(values, list) else values for key, values in lists.items()} for i in range(length)]


SQUARE = {"M": 8192, "N": 8192}
ROWS = [1, 1, 1, 2, 4, 4, 8, 16]
COLUMNS = [512, 1024, 2048, 1024, 1024, 512, 512, 256]
CONVOLUTION = {"batch": 128, "H": 14, "W": 14, "C": 512, "F": 512, "KH": 3, "KW": 3, "OH": 7, "OW": 7}
CASES = [
    *[Case(f"{kernel} bf16 8192x8192", kernel, SQUARE, "copy", 0.88, tilings(dtype="bf16", block_M=ROWS, block_N=COLUMNS) + tilings(dtype="bf16", whole="true", block_M=[1, 2], block_N=8192))
      for kernel in ("softmax", "rmsnorm", "layernorm")],
    *[Case(f"transpose {dtype} 8192x8192", "transpose", SQUARE, "copy", 0.88,
           tilings(dtype=dtype, block_M=[32, 64, 64, 128, 128, 32, 128, 256, 64], block_N=[32, 64, 128, 64, 128, 128, 32, 64, 256]), dtype) for dtype in ("f32", "bf16")],
    Case("conv2d f16 128x14x14x512 3x3 stride 2", "conv2d", CONVOLUTION, "cuDNN", 0.9,
         tilings(dtype="f16", stride=2, padding=1, block_M=[128, 128, 128, 128, 64, 64, 256], block_F=[128, 192, 256, 256, 128, 256, 128],
                 block_C=[64, 64, 64, 32, 64, 64, 64]), "f16"),
    Case("topk f32 8192x32768 k=64", "topk", {"M": 8192, "N": 32768}, "PyTorch", 1.0, tilings(top=64, block_N=[256, 512, 1024, 2048, 512, 1024, 1024, 2048], warps=[1, 1, 1, 1, 2, 2, 4, 4]), "f32"),
    Case("cumsum f32 8192x8192", "cumsum", SQUARE, "PyTorch", 1.0,
         tilings(block_M=[8, 32, 64, 128, 128, 1, 1, 4], block_N=[256, 128, 64, 32, 128, 1024, 8192, 1024]), "f32"),
    *[Case("histogram 2^26 bytes", "histogram", {"N": 1 << 26}, peer, bar, tilings(block=[4096, 16384, 65536, 262144, 524288]), "u8")
      for peer, bar in (("bincount", 1.0), ("histc", None))],
    *[Case(f"matmul_int4 {m}x8192x8192 group 128 {dtype}", "matmul_int4", {"M": m, "N": 8192, "K": 8192}, "cuBLAS bf16", 2.5,
           tilings(dtype=dtype, group=128, block_M=rows, block_N=[64, 64, 64, 64, 128], block_K=[128, 128, 256, 256, 256], stages=[8, 16, 5, 8, 6]) +
           tilings(dtype=dtype, group=128, block_M=rows, block_N=[64, 64, 128], block_K=[128, 256, 128], stages=4, schedule="schedules/matmul_int4_split_k.schedule"), dtype)
      for m, rows in ((1, 8), (16, 16)) for dtype in ("bf16", "f16")],
]


def label(tiling):
    return " ".join(f"{key}={pathlib.Path(value).stem if key == 'schedule' else value}" for key, value in tiling.items() if key not in ("dtype", "group", "stride", "padding", "top"))


def find(name, folder):
    """A program or a kernel, in the bundle or in the source tree."""
    places = {"program": [HERE.parent / "bin" / "plait", *sorted(HERE.parent.glob("build/*/tools/plait/plait"))],
              "kernel": [HERE.parent / "share" / "plait" / "kernels" / name, HERE.parent / "kernels" / name]}[folder]
    for place in places:
        if place.is_file():
            return str(place)
    sys.exit(f"error: {name} was not found")


def compiled(job):
    """The tiling's outcome: the first error, or empty; seconds."""
    case, tiling, device = job
    command = [os.environ.get("PLAIT_PROGRAM") or find("plait", "program"), "compile", find(f"{case.kernel}.tile", "kernel"), "--device", device, "--emit", "cubin",
               "-o", os.devnull]
    bindings = dict(tiling)
    if schedule := bindings.pop("schedule", None):
        command += ["--schedule", find(schedule, "kernel")]
    for flag, values in (("-D", bindings), ("--dim", case.dims)):
        command += [text for key, value in values.items() for text in (flag, f"{key}={value}")]
    begin = time.monotonic()
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    errors = [line for line in found.stderr.splitlines() if "error:" in line] or found.stderr.splitlines()[:1] or ["exit " + str(found.returncode)]
    return errors[0] if found.returncode != 0 else "", time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description="compile every tiling that gpu/bench_complete.py measures")
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--device", default="h200")
    options = parser.parse_args()
    jobs = [(case, tiling, options.device) for case in CASES if options.only in case.name for tiling in case.tilings]
    refused = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (case, tiling, _), (error, seconds) in zip(jobs, pool.map(compiled, jobs)):
            print(f"{case.name:<44} {label(tiling):<36} {seconds:5.2f} s  {error or 'ok'}", flush=True)
            refused += bool(error)
    print(f"{len(jobs)} tilings, {refused} refused")
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()

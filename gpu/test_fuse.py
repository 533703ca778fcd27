"""GPU tests of fused kernels: `plait fuse` makes one kernel of a product and a row-wise program, which runs on fresh random inputs and poisoned outputs and is
compared with f64 references; the same call again gives the same bits.

    python gpu/test_fuse.py [--budget SECONDS] [--seed N] [--out FILE] [--only NAME]

A core of shapes with tails always runs; then random shapes until the budget is used up.
"""

import argparse
import json
import random
import subprocess
import sys
import time

import torch

import plait_gpu
from bench_common import check, check_repeats, poisoned, randn

EPS = 1e-5  # the default of rmsnorm
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def fused(first, second, bindings=(), dims=(), device="h200", blocks=()):
    """The kernel that `plait fuse` makes of two of plait's kernels, by its text."""
    command = [plait_gpu.find_program(), "fuse", str(plait_gpu.find_kernel(f"{first}.tile")), str(plait_gpu.find_kernel(f"{second}.tile")), "--device", device,
               "--emit", "roles"]
    for flag, values in (("-D", bindings), ("--dim", dims), ("--blocks", blocks)):
        for value in values:
            command += [flag, value]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if found.returncode != 0:
        raise plait_gpu.Error(found.stderr)
    return plait_gpu.Roles(found.stdout, f"{first}_{second}.roles", arch="sm_90a")


def softmax(x):
    return torch.softmax(x.double(), -1)


def rmsnorm(x, weight):
    wide = x.double()
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPS) * weight.double()


def product(name, dtype, m, n, k):
    """Arguments of a product, its output and the reference."""
    a = randn(m, k, dtype=dtype)
    b = randn(*((n, k) if name == "matmul_nt" else (k, n)), dtype=dtype)
    c = poisoned(m, n, dtype=dtype)
    return {"A": a, "B": b, "C": c}, c, lambda: a.double() @ (b.double().T if name == "matmul_nt" else b.double())


def rows(name, dtype, m, n):
    x, y, weight = randn(m, n, dtype=dtype), poisoned(m, n, dtype=dtype), randn(n, dtype=dtype)
    if name == "softmax":
        return {"X": x, "Y": y}, y, lambda: softmax(x)
    return {"X": x, "W": weight, "Y": y}, y, lambda: rmsnorm(x, weight)


# first, second, bindings, device, blocks
PAIRS = [
    ("matmul", "rmsnorm", ("dtype=bf16",), "h200", ()),
    ("matmul_nt", "softmax", ("dtype=bf16",), "h200", ()),
    ("matmul_nt", "rmsnorm", ("dtype=bf16", "rmsnorm.block_M=4"), "h200", ("rmsnorm=2",)),
    ("softmax", "matmul", ("dtype=f16",), "h200", ()),
    ("matmul_nt", "matmul", ("dtype=bf16", "block_M=64", "block_N=64"), "h200", ()),
    # Code for an a100 runs on later devices too.
    ("matmul", "rmsnorm", ("dtype=bf16",), "a100", ()),
]
CORE = [((200, 264, 136), (9, 1000)), ((129, 257, 65), (300, 61)), ((512, 768, 0), (1, 1)), ((4096, 512, 256), (3, 5000)), ((1, 8, 8), (2000, 2048))]


def extents(name, shape, other):
    return [f"{name}.{dim}={value}" for dim, value in (zip("MNK", shape) if "matmul" in name else zip("MN", other))]


def run(pair, shape, other):
    """A call of these extents, which the kernel is made for: what TMA can address follows from them."""
    first, second, bindings, device, blocks = pair
    dtype = DTYPES[next(b.split("=")[1] for b in bindings if b.startswith("dtype="))]
    kernel = fused(first, second, bindings, extents(first, shape, other) + extents(second, shape, other), device, blocks)
    parts = [product(name, dtype, *shape) if "matmul" in name else rows(name, dtype, *other) for name in (first, second)]
    shared = set(parts[0][0]) & set(parts[1][0])
    arguments = {}
    for label, (given, _, _) in zip((first, second), parts):
        arguments.update({f"{label}_{key}" if key in shared else key: value for key, value in given.items()})
    launch = kernel.prepare(**arguments)
    launch()
    errors = [check(f"{label}: output", out, want()) for label, (_, out, want) in zip((first, second), parts)]
    check_repeats(launch, [out for _, out, _ in parts], 5)
    return max(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=60, help="seconds (default 60); the core runs whatever it takes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="", help="JSON file of the outcome")
    parser.add_argument("--only", default="", help="only pairs whose names contain this text")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    torch.manual_seed(options.seed)
    deadline = time.monotonic() + options.budget
    table = {}
    pairs = [pair for pair in PAIRS if options.only in f"{pair[0]}+{pair[1]}"]

    def case(pair, shape, other):
        row = table.setdefault(pair, {"pair": pair[:2], "bindings": pair[2], "device": pair[3], "cases": 0, "worst": 0.0, "failed": []})
        row["cases"] += 1
        try:
            row["worst"] = max(row["worst"], run(pair, shape, other))
        except Exception as error:  # noqa: BLE001
            row["failed"].append({"shape": shape, "other": other, "error": str(error)[:600]})
            print(f"FAILED {pair} {shape} {other}: {str(error).splitlines()[0] if str(error) else error!r}", flush=True)

    for pair in pairs:
        for shape, other in CORE:
            case(pair, shape, other)
    while time.monotonic() < deadline and pairs:
        case(rng.choice(pairs), (rng.randint(1, 700), rng.randint(1, 700), rng.randint(0, 500)), (rng.randint(1, 400), rng.randint(1, 5000)))
    print(f"\n{'pair':<24} {'device':<6} {'bindings':<40} cases  worst error / size of the tensor")
    for row in table.values():
        print(f"{'+'.join(row['pair']):<24} {row['device']:<6} {' '.join(row['bindings']):<40} {row['cases']:>5}  {row['worst']:.2g}{'  FAILED' if row['failed'] else ''}")
    failed = sum(len(row["failed"]) for row in table.values())
    print(f"{sum(row['cases'] for row in table.values())} cases with seed {options.seed}, {failed} failed")
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"seed": options.seed, "rows": list(table.values())}, file, indent=1)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

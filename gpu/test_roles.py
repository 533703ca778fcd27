"""GPU tests: role programs on fresh random inputs against f64 references, outputs poisoned, the same bits launch after launch.

    python gpu/test_roles.py [--budget SECONDS] [--seed N] [--out FILE]

A core of cases always runs; then random cases until the budget is used up.
"""

import argparse
import json
import math
import random
import sys
import time

import torch

import plait_gpu
from bench_common import check, check_repeats, poisoned, randn, reference_attention, reference_matmul

D = 128
compiled = {}


def program(name, **bindings):
    key = (name, tuple(sorted(bindings.items())))
    if key not in compiled:
        compiled[key] = plait_gpu.Roles.file(name, **bindings)
        report = compiled[key].report
        if report["spill_store_bytes"] or report["spill_load_bytes"]:
            raise AssertionError(f"{name} {bindings} spills registers")
    return compiled[key]


def matmul(name, m, n, k, repeats=3, **bindings):
    a, b, c = randn(m, k), randn(n, k), poisoned(m, n)
    launch = program(name, **bindings).prepare(A=a, B=b, C=c)
    launch()
    check("C", c, reference_matmul(a, b))
    check_repeats(launch, [c], repeats)


def attention(b, h, s, causal, repeats=3, **bindings):
    q, k, v, o = randn(b, h, s, D), randn(b, h, s, D), randn(b, h, s, D), poisoned(b, h, s, D)
    scale = 1 / math.sqrt(D)
    launch = program("attention_fwd", causal=causal, **bindings).prepare(Q=q, K=k, V=v, O=o, scale_log2=scale * math.log2(math.e))
    launch()
    check("O", o, reference_attention(q, k, v, causal, scale))
    check_repeats(launch, [o], repeats)


def softmax(m, n, repeats=3, columns=1024):
    x, y = randn(m, n, dtype=torch.float32, scale=4.0), poisoned(m, n, dtype=torch.float32)
    launch = program("softmax_rows", columns=columns).prepare(X=x, Y=y)
    launch()
    check("Y", y, torch.softmax(x.double(), -1))
    check_repeats(launch, [y], repeats)


def copy(count, repeats=3):
    x, y = randn(count, dtype=torch.float32), poisoned(count, dtype=torch.float32)
    launch = program("copy_bulk").prepare(X=x, Y=y)
    launch()
    check("Y", y, x, 0.0)
    check_repeats(launch, [y], repeats)


def copy_rows(m, n, repeats=3):
    x, y = randn(m, n, dtype=torch.float32), poisoned(m, n, dtype=torch.float32)
    launch = program("copy_rows").prepare(X=x, Y=y)
    launch()
    check("Y", y, x, 0.0)
    check_repeats(launch, [y], repeats)


MATMULS = ("matmul_coop", "matmul_channels", "matmul_multicast", "matmul_pingpong", "matmul_sm80")
VARIANTS = ({"causal": False}, {"causal": True}, {"causal": True, "paired": True}, {"causal": False, "stay": False},
            {"causal": True, "paired": True, "pingpong": False}, {"causal": False, "heads_together": 2})


def core():
    for name in MATMULS:
        for shape in ((128, 256, 64), (8, 8, 8), (1, 16, 24), (1000, 1000, 520), (384, 264, 72), (2048, 2304, 512)):
            yield name, lambda name=name, shape=shape: matmul(name, *shape)
    yield "matmul_coop, nothing to add", lambda: matmul("matmul_coop", 256, 256, 0)
    for bindings in ({"in_flight": 1}, {"stages": 3, "slices": 4}, {"stages": 2}, {"group": 1}):
        yield f"matmul_coop {bindings}", lambda bindings=bindings: matmul("matmul_coop", 520, 776, 1032, **bindings)
    for variant in VARIANTS:
        for shape in ((1, 2, 128), (2, 2, 200), (1, 4, 1), (2, 4, 1024)):
            yield f"attention {variant}", lambda variant=variant, shape=shape: attention(*shape, **variant)
    for shape in ((1, 4), (7, 1000), (4096, 1024)):
        yield "softmax", lambda shape=shape: softmax(*shape)
    for count in (4, 8192, 1 << 20, 100_000_004):
        yield "copy", lambda count=count: copy(count)
    for shape in ((1, 4), (9, 1028), (3000, 1024)):
        yield "copy_rows", lambda shape=shape: copy_rows(*shape)
    yield "matmul_coop, 100 launches", lambda: matmul("matmul_coop", 4096, 4096, 1024, repeats=100)
    yield "attention, 100 launches", lambda: attention(2, 4, 2048, True, repeats=100, paired=True)


def drawn(rng):
    """A random case, as text and function."""
    kind = rng.randrange(4)
    if kind < 2:
        name = rng.choice(MATMULS)
        shape = (rng.randint(1, 1500), 8 * rng.randint(1, 200), 8 * rng.randint(0 if name == "matmul_coop" else 1, 200))
        return f"{name} {shape}", lambda: matmul(name, *shape)
    if kind == 2:
        variant, shape = rng.choice(VARIANTS), (rng.randint(1, 3), 2 * rng.randint(1, 3), rng.randint(1, 1500))
        return f"attention {variant} {shape}", lambda: attention(*shape, **variant)
    if rng.random() < 0.5:
        shape = (rng.randint(1, 3000), 4 * rng.randint(1, 256))
        return f"softmax {shape}", lambda: softmax(*shape)
    count = 4 * rng.randint(1, 1 << 22)
    return f"copy {count}", lambda: copy(count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=60, help="seconds (default 60); the core runs whatever it takes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="", help="JSON file of the outcome")
    parser.add_argument("--core-only", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU here")
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    begin, count, failures = time.monotonic(), 0, []

    def run(name, case):
        nonlocal count
        count += 1
        try:
            case()
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001
            failures.append(name)
            print(f"FAILED {name}: {error}", flush=True)
            if isinstance(error, torch.AcceleratorError):
                sys.exit(f"the device is lost; {count} cases, {len(failures)} failed")

    for name, case in core():
        run(name, case)
    core_count = count
    while not options.core_only and time.monotonic() - begin < options.budget:
        run(*drawn(rng))
    seconds = time.monotonic() - begin
    print(f"{count} cases ({core_count} core, {count - core_count} drawn with seed {options.seed}) in {seconds:.0f} s, {len(failures)} failed")
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"cases": count, "core": core_count, "seed": options.seed, "failed": failures, "device": torch.cuda.get_device_name(0)}, file)
    sys.exit(1 if failures else 0)


main()

"""Micro-benchmarks of the machine's units, from role programs: cycles of one operation alone and of many in a row.

    python gpu/micro.py --out micro.json
"""

import argparse
import json
import statistics

import torch

import plait_gpu
from bench_common import poisoned, randn

ROUNDS = 256
WIDTHS = (64, 96, 128, 176, 192, 256)
BOXES = (8, 16, 32, 64, 128, 256)


def cycles(roles, times=7, **arguments):
    """Median over `times` launches of each counter of T."""
    shape = arguments.pop("counters")
    runs = []
    for _ in range(times):
        counters = torch.zeros(*shape, dtype=torch.int32, device="cuda")
        roles(T=counters.view(torch.uint32), **arguments)
        torch.cuda.synchronize()
        runs.append(counters.cpu().double().flatten(0).tolist())
    return [statistics.median(column) for column in zip(*runs)]


def wgmma():
    found = {}
    for registers in (False, True):
        for n in WIDTHS:
            roles = plait_gpu.Roles.file("micro/micro_wgmma", n=n, registers=registers, rounds=ROUNDS, allow_serialized=True)
            alone, row = cycles(roles, counters=(2,), Y=poisoned(64, n, dtype=torch.float32))
            found[f"m64n{n}k16 A from {'registers' if registers else 'shared'}"] = {
                "latency": alone / ROUNDS, "interval": row / ROUNDS}
    return found


def tma():
    found = {}
    rounds = 32
    x = randn(132 * 256 * rounds, 64)
    for blocks in (1, 132):
        for rows in BOXES:
            roles = plait_gpu.Roles.file("micro/micro_tma", rows=rows, rounds=rounds)
            both = cycles(roles, counters=(2, blocks), X=x)
            alone, row = statistics.mean(both[:blocks]), statistics.mean(both[blocks:])
            found[f"box {rows}x64 bf16, {blocks} blocks"] = {
                "latency": alone / rounds, "interval": row / rounds, "bytes_per_cycle": rows * 128 * rounds / row}
    return found


def vector():
    found = {}
    for warps, columns in ((1, 128), (4, 512), (16, 512)):
        roles = plait_gpu.Roles.file("micro/micro_vector", warps_=warps, columns=columns, rounds=ROUNDS)
        x = randn(warps, columns, dtype=torch.float32)
        counts = cycles(roles, counters=(3,), X=x, Y=torch.empty_like(x))
        elements = warps * columns * ROUNDS
        for name, count in zip(("ex2", "fma", "shared load, 4-byte elements"), counts):
            found[f"{name}, {warps} warps of {columns // 32} elements a thread"] = {
                "cycles_per_pass": count / ROUNDS, "elements_per_cycle": elements / count}
    return found


def barriers():
    counts = cycles(plait_gpu.Roles.file("micro/micro_barriers", rounds=ROUNDS), counters=(4,))
    names = ("mbarrier round trip", "named barrier of 128 threads", "named barrier of 256 threads", "fence proxy_async")
    return {name: {"latency": count / ROUNDS} for name, count in zip(names, counts)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="micro.json")
    options = parser.parse_args()
    result = {"device": torch.cuda.get_device_name(0), "command": "python gpu/micro.py", "units": "cycles of a multiprocessor"}
    for measure in (wgmma, tma, vector, barriers):
        try:
            result[measure.__name__] = measure()
        except plait_gpu.Error as error:
            result[measure.__name__] = {"error": str(error)}
        for name, figures in result[measure.__name__].items():
            print(f"{name:<58} {figures}", flush=True)
        with open(options.out, "w") as file:
            json.dump(result, file, indent=1)


main()

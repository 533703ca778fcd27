#!/usr/bin/env python3
"""Every kernel with a pipelined loop by every planner on every machine that planners know: intervals, bounds, predicted times.

    scripts/planner_table.py build/release/tools/plait/plait [--device h200] [--kernel NAME] [--jobs 2] [--out docs/planner-table.md]

What the authors of the kernels say of stages is left out, so that every loop is planned. Exits with 1 where fewer than nine in ten kernels
have predicted times modulo <= greedy <= the best of rules with stages=1 to 4.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICES = ["h200", "a100", "ascend950", "ascend910b"]
PLANNERS = ["greedy", "modulo"]
STAGES = [1, 2, 3, 4]
WORTH = 1.01  # a planner takes a later schedule where it is 1 % better
ENOUGH = 0.9  # of the kernels

SQUARE = {"M": 2048, "N": 2048, "K": 1024}
HEADS = {"B": 1, "H": 32, "Hkv": 32, "Sq": 512, "Sk": 512}
CHUNKS = {"B": 1, "S": 2048, "H": 16, "G": 1}
WIDE = {"dtype": "bf16", "block_M": 128, "block_N": 128, "block_K": 64}
ATTENTION = {"dtype": "bf16", "D": 128, "block_M": 128, "block_N": 128}
KEYS = {"dtype": "bf16", "D": 128, "block_M": 64, "block_N": 128}
QUERIES = {"dtype": "bf16", "D": 128, "block_M": 128, "block_N": 64}
# name, kernel, bindings, extents; bindings of single machines stand in TILES
KERNELS = [
    ("matmul", "matmul", WIDE, SQUARE),
    ("matmul_nt", "matmul_nt", WIDE, SQUARE),
    ("matmul_tn", "matmul_tn", WIDE, SQUARE),
    ("matmul_bias_act", "matmul_bias_act", WIDE, SQUARE),
    ("batched_matmul", "batched_matmul", WIDE, {"batch": 4, "M": 512, "N": 512, "K": 512}),
    ("matmul_int4", "matmul_int4", {}, {"M": 128, "N": 256, "K": 512}),
    ("attention", "attention", ATTENTION, HEADS),
    ("attention, causal", "attention", {**ATTENTION, "causal": "true"}, HEADS),
    ("attention_bwd_dkdv", "attention_bwd_dkdv", KEYS, HEADS),
    ("attention_bwd_dkdv, causal", "attention_bwd_dkdv", {**KEYS, "causal": "true"}, HEADS),
    ("attention_bwd_dq", "attention_bwd_dq", QUERIES, HEADS),
    ("attention_bwd_dq, causal", "attention_bwd_dq", {**QUERIES, "causal": "true"}, HEADS),
    ("conv2d", "conv2d", {"dtype": "bf16"}, {"batch": 1, "H": 32, "W": 32, "C": 128, "KH": 3, "KW": 3, "F": 128, "OH": 32, "OW": 32}),
    ("gemv", "gemv", {"dtype": "bf16"}, {"M": 1024, "K": 2048}),
    ("softmax", "softmax", {"dtype": "bf16"}, {"M": 256, "N": 4096}),
    ("layernorm", "layernorm", {"dtype": "bf16"}, {"M": 256, "N": 4096}),
    ("rmsnorm", "rmsnorm", {"dtype": "bf16"}, {"M": 256, "N": 4096}),
    ("mamba2_chunk_scan", "mamba2_chunk_scan", {}, CHUNKS),
    ("mamba2_chunk_state", "mamba2_chunk_state", {}, CHUNKS),
]
# Tiles that the memories of an AI core take with more than one version.
SMALL = {"D": 64, "block_M": 64, "block_N": 64}
BACKWARD = ("attention_bwd_dkdv", "attention_bwd_dkdv, causal", "attention_bwd_dq", "attention_bwd_dq, causal")
TILES = {(name, device): SMALL for name in BACKWARD for device in ("ascend950", "ascend910b")}


def text_of(kernel, stages):
    """The kernel with loops that say nothing of stages, or ask for so many."""
    text = (ROOT / "kernels" / f"{kernel}.tile").read_text()
    text = re.sub(r"(in pipelined\(.*?)(, stages=\w+)?\):", r"\1):", text)
    return text if stages is None else re.sub(r"(in pipelined\(.*)\):", rf"\1, stages={stages}):", text)


def explained(plait, device, case, planner, stages):
    """What `plait explain` says, or the message of its error."""
    name, kernel, bindings, dims = case
    bindings = {**bindings, **TILES.get((name, device), {})}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{kernel}.tile"
        path.write_text(text_of(kernel, stages))
        command = [plait, "explain", str(path), "--device", device, "--planner", planner, "--json"]
        for option, values in (("-D", bindings), ("--dim", dims)):
            for key, value in values.items():
                command += [option, f"{key}={value}"]
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PLAIT_STORE": "none"})
    if run.returncode == 0:
        return json.loads(run.stdout)
    found = re.search(r"error: (.*)", run.stderr) or re.search(r'"message": "(.*?)"', run.stdout)
    return found.group(1) if found else run.stderr.strip() or f"exit {run.returncode}"


def time_of(found):
    return None if isinstance(found, str) else found.get("prediction", {}).get("microseconds")


class Row:
    """A kernel on a machine."""

    def __init__(self, plait, device, case, pool):
        self.name, self.device = case[0], device
        self.futures = {("rules", n): pool.submit(explained, plait, device, case, "rules", n) for n in [0, *STAGES]}
        self.futures.update({(p, None): pool.submit(explained, plait, device, case, p, None) for p in PLANNERS})

    def wait(self):
        found = {way: future.result() for way, future in self.futures.items()}
        self.refused = next((f for f in found.values() if isinstance(f, str)), None) if all(isinstance(f, str) for f in found.values()) else None
        self.none = time_of(found["rules", 0])
        rules = {n: time_of(found["rules", n]) for n in STAGES}
        self.stages, self.rules = min(((n, t) for n, t in rules.items() if t), key=lambda e: e[1], default=(None, None))
        self.times = {p: time_of(found[p, None]) for p in PLANNERS}
        self.loops = {p: [] if isinstance(found[p, None], str) else found[p, None].get("planned", []) for p in PLANNERS}
        self.why = {p: found[p, None] for p in PLANNERS if isinstance(found[p, None], str)}
        return self

    def planned(self):
        return all(self.times[p] and self.loops[p] for p in PLANNERS)

    def broken(self):
        """Which of the two inequalities does not hold."""
        found = []
        if self.times["modulo"] > WORTH * self.times["greedy"]:
            found.append(f"modulo {self.times['modulo']:.2f} us, greedy {self.times['greedy']:.2f} us")
        if self.rules and self.times["greedy"] > WORTH * self.rules:
            found.append(f"greedy {self.times['greedy']:.2f} us, rules with stages={self.stages} {self.rules:.2f} us")
        return found

    def line(self):
        if not self.planned():
            why = self.refused or next(iter(self.why.values()), "no planner weighs it")
            return f"| {self.name} | {why} |" + " |" * 8
        loops = self.loops["modulo"]
        joined = lambda values: " + ".join(str(v) for v in values)
        bounds = joined(max(loop["resource_bound"], loop["recurrence_bound"]) for loop in loops)
        critical = ", ".join(dict.fromkeys(loop["critical"] for loop in loops))
        cells = [self.name, critical, bounds, *(joined(loop["ii"] for loop in self.loops[p]) for p in PLANNERS), us(self.none),
                 f"{us(self.rules)} ({self.stages})" if self.rules else "", *(us(self.times[p]) for p in PLANNERS),
                 f"{self.none / self.times['modulo']:.2f}" if self.none else ""]
        return "| " + " | ".join(cells) + " |"


def us(value):
    return f"{value:.2f}" if value else "none"


HEAD = """# Kernels by planners

Made by `scripts/planner_table.py`. Every kernel of `kernels/` with a pipelined loop, its own stages left out, by every planner (docs/planners.md).
II and bounds are cycles of an iteration, loops of a kernel joined by `+`; times are microseconds that `plait explain` predicts for the call in the script, speed-up that
of `modulo` over no overlap; behind the best of the rules stands its `stages`.
"""
COLUMNS = ["kernel", "critical", "bound", "II greedy", "II modulo", "no overlap", "rules", "greedy", "modulo", "speed-up"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plait")
    parser.add_argument("--device", action="append")
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out")
    options = parser.parse_args()
    cases = [case for case in KERNELS if not options.kernel or case[0] in options.kernel]
    text, exceptions, rows = HEAD, [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for device, of_device in [
                (d, [Row(options.plait, d, c, pool) for c in cases]) for d in options.device or DEVICES]:
            text += f"\n## {device}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
            for row in of_device:
                text += row.wait().line() + "\n"
                print(row.line(), flush=True)
                rows += row.planned()
                exceptions += [f"{row.name} on {device}: {what}" for what in row.broken()] if row.planned() else []
    wrong = len({e.split(":")[0] for e in exceptions})
    text += f"\n## Modulo, greedy, rules\n\nPredicted times modulo ≤ greedy ≤ best rules, to 1 %, hold for {rows - wrong} of {rows}."
    text += " The others:\n\n" + "".join(f"- {e}\n" for e in exceptions) if exceptions else "\n"
    print(f"{rows - wrong} of {rows}", *exceptions, sep="\n")
    if options.out:
        pathlib.Path(options.out).write_text(text)
    raise SystemExit(0 if rows - wrong >= ENOUGH * rows else 1)


if __name__ == "__main__":
    main()

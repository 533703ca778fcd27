#!/usr/bin/env python3
"""Schedules of matmul and attention with the times that `plait explain` predicts, for gpu/bench_planners.py --predictions.

    scripts/predictions.py build/release/tools/plait/plait >predictions.json
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MATMUL_DIMS = {"M": 2048, "N": 2048, "K": 2048}
ATTENTION_DIMS = {"B": 1, "H": 8, "Hkv": 8, "Sq": 2048, "Sk": 2048}
MATMUL_TILES = [(128, 256, 64), (128, 128, 64), (128, 192, 64), (256, 128, 64), (64, 256, 64), (128, 128, 32), (64, 128, 64), (128, 64, 64), (64, 64, 64),
                (128, 128, 128)]
ATTENTION_TILES = [(128, 128), (64, 128), (64, 64), (128, 64)]


def text_of(kernel, stages):
    text = (ROOT / "kernels" / f"{kernel}.tile").read_text()
    text = re.sub(r", stages=\w+\):", "):", text)
    return text if stages is None else re.sub(r"(in pipelined\(.*)\):", rf"\1, stages={stages}):", text)


def predicted(plait, entry):
    """Microseconds, or None where the schedule is refused or takes too long to simulate."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{entry['kernel']}.tile"
        path.write_text(entry["text"])
        command = [plait, "explain", str(path), "--device", "h200", "--json"]
        for name, value in entry["bindings"].items():
            command += ["-D", f"{name}={value}"]
        for name, value in entry["dims"].items():
            command += ["--dim", f"{name}={value}"]
        if "planner" in entry:
            command += ["--planner", entry["planner"]]
        if "schedule" in entry:
            (pathlib.Path(folder) / "given.schedule").write_text(entry["schedule"])
            command += ["--schedule", str(pathlib.Path(folder) / "given.schedule")]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            return None
        return json.loads(run.stdout).get("prediction", {}).get("microseconds")


def ways(kernel, bindings, dims):
    label = " ".join(f"{n}={v}" for n, v in bindings.items() if n.startswith("block"))
    for stages in (1, 2, 3, 4):
        yield {"what": f"{label} stages={stages}", "text": text_of(kernel, stages), "kernel": kernel, "bindings": bindings, "dims": dims}
    for planner in ("greedy", "modulo"):
        yield {"what": f"{label} {planner}", "text": text_of(kernel, None), "kernel": kernel, "bindings": bindings, "dims": dims, "planner": planner}


def main():
    plait = sys.argv[1]
    entries = []
    for m, n, k in MATMUL_TILES:
        entries += ways("matmul_nt", {"dtype": "bf16", "block_M": m, "block_N": n, "block_K": k}, MATMUL_DIMS)
    for m, n in ATTENTION_TILES:
        entries += ways("attention", {"dtype": "bf16", "D": 128, "block_M": m, "block_N": n}, ATTENTION_DIMS)
    for entry in entries:
        entry["predicted_us"] = predicted(plait, entry)
        print(entry["what"], entry["predicted_us"], file=sys.stderr)
    json.dump([entry for entry in entries if entry["predicted_us"]], sys.stdout)


if __name__ == "__main__":
    main()

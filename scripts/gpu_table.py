#!/usr/bin/env python3
"""Prints the rows of gpu/bench_roles.py or gpu/ladder.py as a table of Markdown: scripts/gpu_table.py bench/results/gpu/roles.json"""

import json
import sys


def cell(row, side):
    if f"{side}_ms" not in row:
        return ""
    rate = f" ({row[f'{side}_tflops']:.0f} TFLOP/s)" if f"{side}_tflops" in row else f" ({row[f'{side}_tbs']:.2f} TB/s)" if f"{side}_tbs" in row else ""
    return f"{row[f'{side}_ms']:.4g} ms{rate}"


def main():
    with open(sys.argv[1]) as file:
        data = json.load(file)
    print("| role program's work | plait | peer | ratio [95 % interval] | back to back | bar |\n| --- | --- | --- | --- | --- | --- |")
    for row in data["rows"]:
        ratio = f"{row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" if "ratio" in row else row.get("error", row.get("skipped", ""))[:60]
        hot = f"{row['back_to_back']:.3f}" if "back_to_back" in row else ""
        bar = "" if row.get("bar") is None else f"{row['bar']:g} {'met' if row.get('met') else 'missed'}"
        note = f"; {row['note']}" if "note" in row else ""
        print(f"| {row['name']}{note} | {cell(row, 'ours')} | {cell(row, 'peer')} | {ratio} | {hot} | {bar} |")


main()

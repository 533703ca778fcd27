#!/usr/bin/env python3
"""Compares a new record of plait-bench with the kept one; exits 1 where a case got worse.

    compare.py RECORD NEW [--tolerance 0.15]

What is compared are ratios to a peer measured in the same run, which depend little on the machine's mood. Each case has two, of the medians and of the best
runs; so that a disturbed run raises no alarm, the lower of the record stands against the higher of the new one. A case has got worse when that is below
(1 - tolerance) of the recorded one, or when it was not measured at all. Compilation has no peer in its run and gets twice the tolerance.
"""
import argparse
import json
import sys


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        return record, {case["name"]: case for case in record["cases"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"error: {path} is no record of plait-bench: {error}")


def ratios(case):
    return [case[key] for key in ("ratio", "ratio_of_best") if key in case]


def main():
    parser = argparse.ArgumentParser(description="Fail where plait-bench's ratios fell below the record.")
    parser.add_argument("record")
    parser.add_argument("new")
    parser.add_argument("--tolerance", type=float, default=0.15, help="share of a ratio that may be lost (default 0.15)")
    args = parser.parse_args()
    old_record, old = load(args.record)
    new_record, new = load(args.new)
    if old_record.get("machine") != new_record.get("machine"):
        print(f"note: recorded on {old_record.get('machine')}, measured on {new_record.get('machine')}")
    worse = 0
    for name, case in old.items():
        if not ratios(case):
            continue
        recorded = min(ratios(case))
        found = max(ratios(new.get(name, {})), default=None)
        tolerance = args.tolerance * (2 if name.startswith("compile") else 1)
        limit = recorded * (1 - tolerance)
        fine = found is not None and found >= limit
        worse += not fine
        shown = "not measured" if found is None else f"{found:.3f}"
        print(f"{'ok   ' if fine else 'WORSE'} {name:28} {shown} (recorded {recorded:.3f}, at least {limit:.3f})")
    if worse:
        print(f"{worse} of {len(old)} cases are worse than the record by more than the tolerance")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

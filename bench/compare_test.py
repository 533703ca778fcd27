#!/usr/bin/env python3
"""compare.py passes equal records, fails on a lost ratio, a missing case and a broken file, and takes what is within the tolerance."""
import json
import pathlib
import subprocess
import sys
import tempfile

COMPARE = pathlib.Path(__file__).with_name("compare.py")


def record(**ratios):
    return {"machine": {}, "cases": [{"name": name, "ratio": ratio} for name, ratio in ratios.items()]}


def outcome(folder, old, new):
    paths = []
    for name, content in (("old", old), ("new", new)):
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        paths.append(str(path))
    done = subprocess.run([sys.executable, str(COMPARE), *paths], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    old = record(matmul=0.9, compile_matmul=2.0)
    cases = [
        (old, 0, "ok    matmul"),
        (record(matmul=0.8, compile_matmul=1.5), 0, "ok    matmul"),
        (record(matmul=0.7, compile_matmul=2.0), 1, "WORSE matmul"),
        (record(matmul=0.9, compile_matmul=1.2), 1, "WORSE compile_matmul"),
        (record(compile_matmul=2.0), 1, "not measured"),
        ({"machine": {}, "cases": [{"name": "matmul", "ratio": 0.5, "ratio_of_best": 0.9}, {"name": "compile_matmul", "ratio": 2}]}, 0, "ok    matmul"),
        ("{", 1, "is no record of plait-bench"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for new, code, text in cases:
            found, said = outcome(folder, old, new)
            assert found == code and text in said, (new, found, said)


if __name__ == "__main__":
    main()

"""Runs matmul and attention through the CLI from .npy files to .npy files and checks the results against numpy in f64."""

import json
import pathlib
import subprocess
import sys

import numpy as np


def attention(q, k, v, causal):
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def jobs(rng):
    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    m, n, k = 1024, 1024, 1024
    yield "matmul f32 1024x1024x1024", "matmul", [], {"A": normal(m, k), "B": normal(k, n)}, "C", lambda x: x["A"] @ x["B"]
    m, n, k = 1000, 999, 1001
    yield "matmul f32 1000x999x1001", "matmul", [], {"A": normal(m, k), "B": normal(k, n)}, "C", lambda x: x["A"] @ x["B"]
    heads = {name: normal(1, 8, 1024, 64) for name in "QKV"}
    for causal in (False, True):
        yield (
            f"attention f32 B1 H8 S1024 D64 {'causal' if causal else 'full'}",
            "attention",
            ["-D", f"causal={'true' if causal else 'false'}"],
            heads,
            "O",
            lambda x, causal=causal: attention(x["Q"], x["K"], x["V"], causal),
        )


def main():
    plait, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for title, kernel, params, inputs, output, reference in jobs(np.random.default_rng(1)):
        command = [plait, "run", f"kernels/{kernel}.tile", "--json", "--verify", "--bench", *params]
        for name, value in inputs.items():
            np.save(folder / f"{name}.npy", value)
            command += ["--input", f"{name}={folder}/{name}.npy"]
        result_file = folder / f"{output}.npy"
        result_file.unlink(missing_ok=True)
        command += ["--output", f"{output}={result_file}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{title}: plait failed\n$ {' '.join(command)}\n{done.stdout}{done.stderr}")
        report = json.loads(done.stdout)
        want = reference({name: value.astype(np.float64) for name, value in inputs.items()})
        got = np.load(result_file)
        error = float(np.linalg.norm(got - want) / np.linalg.norm(want))
        if got.shape != want.shape or not error < 1e-5:
            sys.exit(f"{title}: differs from numpy, relative error {error:.1e}")
        rows.append((title, report["median_ms"], report["gflops"], error))

    print(f"{'kernel':<40} {'median ms':>10} {'GFLOP/s':>9} {'error vs numpy f64':>20}")
    for title, ms, gflops, error in rows:
        print(f"{title:<40} {ms:>10.2f} {gflops:>9.1f} {error:>20.1e}")
    print(f"all {len(rows)} results verified against the interpreter, the f64 reference and numpy; arrays are in {folder}/")


if __name__ == "__main__":
    main()

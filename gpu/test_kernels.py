"""GPU tests of the kernel library: every tile program of kernels/ on fresh random inputs, verified by `plait run --verify` against the interpreter and the f64
reference; prints the worst error of each.

    python gpu/test_kernels.py [--budget SECONDS] [--seed N] [--out FILE] [--only NAME]

A core of shapes with tails always runs; then random shapes until the budget is used up. A kernel that has no placement is listed with the reason.
"""

import argparse
import json
import random
import subprocess
import sys
import time

import plait_gpu

ATTENTION = {"dtype": "bf16", "D": 128, "block_M": 128, "block_N": 128}
# name, bindings, extents of the core, how to draw others
KERNELS = [
    ("matmul_nt", {"dtype": "bf16", "block_N": 256}, [dict(M=200, N=264, K=136), dict(M=1, N=8, K=8), dict(M=512, N=768, K=0), dict(M=129, N=257, K=65)],
     lambda r: dict(M=r(1, 700), N=r(1, 700), K=r(0, 500))),
    ("matmul_nt", {"dtype": "bf16", "block_M": 16, "block_N": 64, "block_K": 128, "stages": 5}, [dict(M=16, N=256, K=512), dict(M=13, N=131, K=72)],
     lambda r: dict(M=r(1, 40), N=r(1, 700), K=r(0, 700))),
    *[("matmul_nt", {"dtype": "bf16", "schedule": f"schedules/matmul_nt_{work}.schedule"},
       [dict(M=200, N=264, K=1000), dict(M=1, N=8, K=8), dict(M=512, N=768, K=0), dict(M=129, N=257, K=4096)],
       lambda r: dict(M=r(1, 700), N=r(1, 700), K=8 * r(0, 300))) for work in ("dynamic", "hilbert", "split_k", "stream_k")],
    ("matmul", {"dtype": "bf16"}, [dict(M=200, N=264, K=136), dict(M=130, N=136, K=72)], lambda r: dict(M=r(1, 500), N=r(1, 500), K=r(0, 400))),
    ("matmul", {}, [dict(M=100, N=133, K=65)], lambda r: dict(M=r(1, 200), N=r(1, 200), K=r(0, 200))),
    ("matmul_tn", {"dtype": "f16"}, [dict(M=200, N=264, K=136)], lambda r: dict(M=r(1, 500), N=r(1, 500), K=r(0, 400))),
    ("matmul_bias_act", {"dtype": "bf16", "act": 2}, [dict(M=200, N=264, K=136)], lambda r: dict(M=r(1, 300), N=r(1, 300), K=r(1, 300))),
    ("batched_matmul", {"dtype": "bf16"}, [dict(batch=3, M=72, N=136, K=72)], lambda r: dict(batch=r(1, 4), M=r(1, 300), N=r(1, 300), K=r(0, 300))),
    ("matmul_int4", {}, [dict(M=33, N=72, K=256)], lambda r: dict(M=r(1, 100), N=r(1, 200), K=128 * r(1, 4))),
    ("attention", ATTENTION, [dict(B=1, H=2, Hkv=1, Sq=200, Sk=300), dict(B=2, H=2, Hkv=2, Sq=1, Sk=1)],
     lambda r: dict(B=r(1, 2), H=4, Hkv=2, Sq=r(1, 500), Sk=r(0, 500))),
    ("attention", {**ATTENTION, "causal": "true"}, [dict(B=1, H=2, Hkv=1, Sq=300, Sk=300)], lambda r: dict(B=r(1, 2), H=4, Hkv=2, Sq=r(1, 500), Sk=r(0, 500))),
    *[(kernel, {"dtype": "bf16", "D": 128, **tile, "causal": causal}, [dict(B=1, H=2, Hkv=1, Sq=200, Sk=300), dict(B=1, H=2, Hkv=2, Sq=1, Sk=1)],
       lambda r: dict(B=r(1, 2), H=4, Hkv=2, Sq=r(1, 500), Sk=r(1, 500)))
      for kernel, tile in (("attention_bwd_dkdv", {"block_N": 128}), ("attention_bwd_dq", {"block_M": 128})) for causal in ("false", "true")],
    ("attention_bwd_delta", {"dtype": "bf16", "D": 128}, [dict(B=1, H=2, Sq=200)], lambda r: dict(B=r(1, 2), H=4, Sq=r(1, 500))),
    ("softmax", {"dtype": "bf16"}, [dict(M=9, N=1000), dict(M=4, N=1)], lambda r: dict(M=r(1, 50), N=r(1, 5000))),
    ("rmsnorm", {"dtype": "bf16"}, [dict(M=9, N=1000)], lambda r: dict(M=r(1, 50), N=r(1, 5000))),
    ("layernorm", {"dtype": "bf16"}, [dict(M=9, N=1000)], lambda r: dict(M=r(1, 50), N=r(1, 5000))),
    *((name, {"dtype": "bf16", "whole": "true", "block_M": 1, "block_N": 8192}, [dict(M=9, N=8192), dict(M=3, N=5000)],
       lambda r: dict(M=r(1, 50), N=r(1, 8192))) for name in ("softmax", "rmsnorm", "layernorm")),
    ("gemv", {}, [dict(M=100, K=1000)], lambda r: dict(M=r(1, 500), K=r(0, 3000))),
    ("transpose", {"dtype": "bf16"}, [dict(M=128, N=264)], lambda r: dict(M=8 * r(1, 60), N=8 * r(1, 60))),
    ("transpose", {}, [dict(M=100, N=133)], lambda r: dict(M=r(1, 500), N=r(1, 500))),
    ("cumsum", {}, [dict(M=9, N=1000)], lambda r: dict(M=r(1, 50), N=r(1, 3000))),
    ("conv2d", {"dtype": "f16"}, [dict(batch=1, H=9, W=10, C=40, F=72, KH=3, KW=3, OH=9, OW=10)],
     lambda r: (lambda h, w: dict(batch=r(1, 2), H=h, W=w, C=r(1, 70), F=r(1, 80), KH=3, KW=3, OH=h, OW=w))(r(3, 12), r(3, 12))),
    ("mamba2_chunk_state", {}, [dict(B=1, S=512, H=2, G=1)], lambda r: dict(B=1, S=256 * r(1, 2), H=2 * r(1, 2), G=1)),
    ("mamba2_chunk_scan", {}, [dict(B=1, S=512, H=2, G=1)], lambda r: dict(B=1, S=256 * r(1, 2), H=2 * r(1, 2), G=1)),
    # Code for an a100 runs on later devices too.
    ("matmul_nt", {"dtype": "bf16", "device": "a100"}, [dict(M=200, N=264, K=1000), dict(M=1, N=8, K=8), dict(M=129, N=257, K=65), dict(M=512, N=768, K=0)],
     lambda r: dict(M=r(1, 700), N=r(1, 700), K=r(0, 500))),
    ("matmul", {"device": "a100", "stages": 2}, [dict(M=100, N=133, K=65)], lambda r: dict(M=r(1, 200), N=r(1, 200), K=r(0, 200))),
    ("attention", {"dtype": "bf16", "D": 64, "block_M": 64, "block_N": 64, "device": "a100"}, [dict(B=1, H=2, Hkv=1, Sq=200, Sk=300)],
     lambda r: dict(B=r(1, 2), H=4, Hkv=2, Sq=r(1, 300), Sk=r(0, 300))),
    ("conv2d", {"dtype": "f16", "device": "a100"}, [dict(batch=1, H=9, W=10, C=40, F=72, KH=3, KW=3, OH=9, OW=10)],
     lambda r: (lambda h, w: dict(batch=1, H=h, W=w, C=r(1, 70), F=r(1, 80), KH=3, KW=3, OH=h, OW=w))(r(3, 12), r(3, 12))),
    ("softmax", {"dtype": "bf16", "device": "a100"}, [dict(M=9, N=1000)], lambda r: dict(M=r(1, 50), N=r(1, 5000))),
    ("topk", {}, [dict(M=5, N=3000)], lambda r: dict(M=r(1, 10), N=r(8, 3000))),
    ("histogram", {}, [dict(N=100000)], lambda r: dict(N=r(0, 100000))),
]


def run(name, bindings, dims, seed):
    command = [plait_gpu.find_program(), "run", str(plait_gpu.find_kernel(f"{name}.tile")), "--device", bindings.get("device", "h200"), "--verify", "--json", "--seed", str(seed)]
    for key, value in bindings.items():
        if key == "schedule":
            command += ["--schedule", str(plait_gpu.find_kernel(value))]
        elif key != "device":
            command += ["-D", f"{key}={value}"]
    for key, value in dims.items():
        command += ["--dim", f"{key}={value}"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(found.stdout) if found.stdout.startswith("{") else {}
    return found.returncode, report, found.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=60, help="seconds (default 60); the core runs whatever it takes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="", help="JSON file of the outcome")
    parser.add_argument("--only", default="", help="only kernels whose name contains this text")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    deadline = time.monotonic() + options.budget
    rows = {}

    def case(number, dims):
        name, bindings = KERNELS[number][:2]
        row = rows.setdefault(number, {"kernel": name, "bindings": bindings, "cases": 0, "worst": 0.0, "failed": [], "refused": ""})
        code, report, errors = run(name, bindings, dims, rng.randrange(1 << 30))
        if "[place-" in errors or "[pipeline-" in errors or "[cuda-unsupported]" in errors:
            row["refused"] = errors.splitlines()[0]
            return
        row["cases"] += 1
        row["worst"] = max(row["worst"], report.get("max_rel_err") or 0.0)
        if code != 0:
            row["failed"].append({"dims": dims, "error": errors[:600]})
            print(f"FAILED {name} {bindings} {dims}: {errors.splitlines()[0] if errors else code}", flush=True)

    chosen = [i for i, kernel in enumerate(KERNELS) if options.only in kernel[0]]
    for i in chosen:
        for dims in KERNELS[i][2]:
            case(i, dims)
    while time.monotonic() < deadline:
        i = rng.choice(chosen)
        if not rows[i]["refused"]:
            case(i, KERNELS[i][3](rng.randint))
        elif all(row["refused"] for row in rows.values()):
            break
    print(f"\n{'kernel':<22} {'bindings':<44} cases  worst error / size of the tensor")
    for row in rows.values():
        bindings = " ".join(f"{k}={v}" for k, v in row["bindings"].items())
        outcome = f"refused: {row['refused'][-110:]}" if row["refused"] else f"{row['worst']:.2g}"
        print(f"{row['kernel']:<22} {bindings:<44} {row['cases']:>5}  {outcome}{'  FAILED' if row['failed'] else ''}")
    failed = sum(len(row["failed"]) for row in rows.values())
    print(f"{sum(row['cases'] for row in rows.values())} cases with seed {options.seed}, {failed} failed")
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"seed": options.seed, "rows": list(rows.values())}, file, indent=1)
    sys.exit(1 if failed else 0)


main()

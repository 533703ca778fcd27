"""The hand-written role programs against cuBLAS, cuDNN and copies: the rows of docs/performance.md, "On the H200".

    python gpu/bench_roles.py --budget 500 --out roles.json [--only matmul] [--program matmul_multicast] [-D stages=3]
"""

import json
import math
import subprocess
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import plait_gpu
from bench_common import (Session, check_repeats, cold, launch_cpu_us, median_interval, poisoned, randn,
                          reference_attention, reference_matmul, rough_ms)

MATMULS = [  # M, N, K, bar against cuBLAS
    (8192, 8192, 8192, 1.00), (4096, 4096, 4096, 0.99), (8192, 8192, 1024, 1.02), (8192, 8192, 256, 1.04),
    (16384, 16384, 16384, None), (4096, 28672, 8192, None), (2048, 2048, 2048, None), (4000, 4040, 2056, None),
]
ATTENTIONS = [  # B, H, S, causal, bar against cuDNN
    (4, 16, 4096, False, 1.00), (4, 16, 4096, True, 1.08), (1, 16, 16384, False, 1.03), (1, 16, 16384, True, 1.10),
    (16, 16, 1024, False, 0.99), (16, 16, 1024, True, 1.00),
]
D = 128


def add_options(parser):
    parser.add_argument("--program", help="role program of the matmul rows (default matmul_coop) or of the attention rows (attention_fwd)")
    parser.add_argument("-D", action="append", default=[], metavar="NAME=VALUE", help="compile-time parameter of --program")
    parser.add_argument("--allow-serialized", action="store_true")


session = Session("roles", __doc__.splitlines()[0], add_options)
options = session.options
compiled = {}


def program(name, **bindings):
    chosen = options.program if options.program and options.program.split("_")[0] == name.split("_")[0] else name
    if chosen == options.program:
        bindings.update(item.split("=", 1) for item in options.D)
    key = (chosen, tuple(sorted(bindings.items())))
    if key not in compiled:
        compiled[key] = plait_gpu.Roles.file(chosen, arch="sm_90a", allow_serialized=options.allow_serialized, **bindings)
        report = compiled[key].report
        print(chosen, bindings, {k: report[k] for k in ("registers", "spill_store_bytes", "smem_bytes", "ms")})
        if compiled[key].warnings:
            print(compiled[key].warnings)
    return compiled[key]


def matmul(row, name, m, n, k):
    # Short k loops end before a slot's release matters, and gain from products under way when they do.
    short = name == "matmul_coop" and k <= 512
    roles = program(name, **({"in_flight": 1} if short else {}))
    row.set(parameters={"in_flight": 1} if short else {})
    sets = session.sets(lambda: [randn(m, k), randn(n, k), poisoned(m, n)])
    ours = [roles.prepare(A=a, B=b, C=c) for a, b, c in sets]
    peer = [lambda s=s: torch.mm(s[0], s[1].T, out=s[2]) for s in sets]
    ours[0]()
    row.check("C", sets[0][2], lambda: reference_matmul(*sets[0][:2]))
    row.compare(ours, peer, flops=2 * m * n * k)
    check_repeats(ours[0], [sets[0][2]], 20)


def attention(row, b, h, s, causal):
    roles = program("attention_fwd", causal=causal, paired=causal)
    scale = 1 / math.sqrt(D)
    sets = session.sets(lambda: [randn(b, h, s, D) for _ in range(3)] + [poisoned(b, h, s, D)])
    ours = [roles.prepare(Q=q, K=k, V=v, O=o, scale_log2=scale * math.log2(math.e)) for q, k, v, o in sets]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        peer = [lambda t=t: torch.nn.functional.scaled_dot_product_attention(*t[:3], is_causal=causal) for t in sets]
        ours[0]()
        q, k, v, o = sets[0]
        row.check("O", o, lambda: reference_attention(q, k, v, causal, scale))
        row.compare(ours, peer, flops=4 * b * h * s * s * D // (2 if causal else 1))
    check_repeats(ours[0], [o], 20)


def softmax(row, m, n):
    roles = program("softmax_rows", columns=n)
    sets = session.sets(lambda: [randn(m, n, dtype=torch.float32), poisoned(m, n, dtype=torch.float32)])
    ours = [roles.prepare(X=x, Y=y) for x, y in sets]
    peer = [lambda t=t: torch.softmax(t[0], -1, out=t[1]) for t in sets]
    ours[0]()
    row.check("Y", sets[0][1], lambda: torch.softmax(sets[0][0].double(), -1))
    row.compare(ours, peer, bytes_moved=2 * 4 * m * n)


def copy(row, count):
    """By rows through registers; as a copy in a stream is faster than a captured one, both are peers."""
    columns = 1024
    roles = program("copy_rows")
    x, y = randn(count // columns, columns, dtype=torch.float32), poisoned(count // columns, columns, dtype=torch.float32)
    ours = roles.prepare(X=x, Y=y)
    ours()
    row.check("Y", y, x, 0.0)
    row.compare([ours], [lambda: y.copy_(x)], bytes_moved=8 * count)
    pairs = [(rough_ms(ours, 3), rough_ms(lambda: y.copy_(x), 3)) for _ in range(30) if time.sleep(0.1) is None]
    ratio, low, high = median_interval([peer / mine for mine, peer in pairs])
    row.note(f"against a copy in a stream {ratio:.4f} [{low:.4f}, {high:.4f}]", stream_ratio=ratio, stream_low=low, stream_high=high)
    row.set(met=min(low, row.data["low"]) >= row.data["bar"])


def cold_start(row, name, **bindings):
    times = cold(name, arch="sm_90a", **bindings)
    row.note(f"{times['total_ms']:.0f} ms, plait's share {times['plait_ms']:.1f} ms", **times)
    row.set(met=times["total_ms"] <= row.data["bar"] and times["plait_ms"] <= 50)


def launch_time(row):
    """From C++: what the command line measures; beside it the Python wrapper's."""
    a, b, c = randn(128, 64), randn(256, 64), poisoned(128, 256)
    python_us = launch_cpu_us(program("matmul_coop").prepare(A=a, B=b, C=c))
    command = [plait_gpu.find_program(), "run", str(plait_gpu.find_roles("matmul_coop")), "--bench", "--json"]
    command += ["--dim", "M=128", "--dim", "N=256", "--dim", "K=64"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if found.returncode != 0:
        raise plait_gpu.Error(found.stderr)
    launch_us = json.loads(found.stdout)["launch_us"]
    row.note(f"{launch_us:.2f} us of the processor from C++, {python_us:.2f} us from Python", launch_us=launch_us, python_us=python_us)
    row.set(met=launch_us <= row.data["bar"])


session.run("cold matmul, ms", lambda row: cold_start(row, "matmul_coop"), 600)
session.run("cold attention, ms", lambda row: cold_start(row, "attention_fwd", causal=False), 1100)
for m, n, k, bar in MATMULS:
    session.run(f"matmul {m}x{n}x{k}", lambda row, a=(m, n, k): matmul(row, "matmul_coop", *a), bar, needs=15)
for b, h, s, causal, bar in ATTENTIONS:
    name = f"attention B{b} H{h} S{s} {'causal' if causal else 'full'}"
    session.run(name, lambda row, a=(b, h, s, causal): attention(row, *a), bar, needs=20)
session.run("sm80 matmul 4096x4096x4096", lambda row: matmul(row, "matmul_sm80", 4096, 4096, 4096), 0.55, needs=15)
session.run("copy 4 GiB", lambda row: copy(row, 1 << 30), 0.95, needs=15)
session.run("softmax 8192x1024", lambda row: softmax(row, 8192, 1024), needs=12)
session.run("launch, us", launch_time, 4)
if session.remaining() > 15:
    session.ceilings()
session.finish()

"""What tile programs become against the role programs written by hand, and against cuBLAS: the rows of docs/performance.md, "From tile programs".

    python gpu/bench_pipeline.py --budget 300 --out pipeline.json [--only attention]
"""

import math

import torch

import plait_gpu
from bench_common import Session, check_repeats, poisoned, randn, reference_attention, reference_matmul

TILES = {"dtype": "bf16", "block_M": 128, "block_N": 256, "block_K": 64}
PRODUCTS = [  # kernel, M, N, K, peer, bar
    ("matmul_nt", 8192, 8192, 8192, "hand", 0.98), ("matmul_nt", 4096, 4096, 4096, "hand", 0.98),
    ("matmul_nt", 8192, 8192, 1024, "hand", 0.98), ("matmul", 8192, 8192, 8192, "nt", 0.97),
    ("matmul_tn", 8192, 8192, 8192, "nt", 0.97), ("matmul_nt", 8192, 8192, 8192, "cuBLAS", None),
    ("matmul_nt", 4096, 4096, 4096, "cuBLAS", None), ("matmul_nt", 8192, 8192, 1024, "cuBLAS", None),
]
WORK_MAPS = [  # M, N, K, schedule, peer
    (512, 512, 16384, "split_k", "cuBLAS"), (512, 512, 16384, "split_k", "default"), (512, 512, 16384, "stream_k", "default"),
    (4096, 4096, 4096, "stream_k", "default"), (8192, 8192, 8192, "hilbert", "default"), (8192, 8192, 8192, "dynamic", "default"),
]
ATTENTIONS = [(4, 16, 4096), (1, 16, 16384), (16, 16, 1024)]  # B, H, S
D = 128

session = Session("pipeline", __doc__.splitlines()[0])
compiled = {}


def once(make, *key):
    if key not in compiled:
        compiled[key] = make()
        report = compiled[key].report
        print(*key, {k: report[k] for k in ("registers", "spill_store_bytes", "smem_bytes", "ms")})
    return compiled[key]


def tile(name, **options):
    return once(lambda: plait_gpu.Roles.tile(f"{name}.tile", arch="sm_90a", **options), name, str(sorted(options.items(), key=str)))


def hand(name, **bindings):
    return once(lambda: plait_gpu.Roles.file(name, arch="sm_90a", **bindings), name, str(sorted(bindings.items())))


def stored(kernel, a, b):
    """The operands of A·Bᵀ as the kernel wants them."""
    left = a.T.contiguous() if kernel == "matmul_tn" else a
    right = b if kernel == "matmul_nt" else b.T.contiguous()
    return left, right


def product(row, kernel, m, n, k, peer):
    program = tile(kernel, dims={"M": m, "N": n, "K": k}, **TILES)
    sets = session.sets(lambda: [randn(m, k), randn(n, k), poisoned(m, n), poisoned(m, n)])
    ours = [program.prepare(A=left, B=right, C=c) for a, b, c, _ in sets for left, right in [stored(kernel, a, b)]]
    if peer == "cuBLAS":
        other = [lambda s=s: torch.mm(s[0], s[1].T, out=s[3]) for s in sets]
    else:
        roles = hand("matmul_coop") if peer == "hand" else tile("matmul_nt", dims={"M": m, "N": n, "K": k}, **TILES)
        other = [roles.prepare(A=a, B=b, C=c) for a, b, _, c in sets]
    ours[0]()
    row.check("C", sets[0][2], lambda: reference_matmul(*sets[0][:2]))
    row.compare(ours, other, flops=2 * m * n * k)
    check_repeats(ours[0], [sets[0][2]], 20)


def unaligned(row, m, n, k):
    """Rows of C that start anywhere: the rate against that of 8192x8192x8192."""
    program, whole = tile("matmul_nt", dims={"M": m, "N": n, "K": k}, **TILES), tile("matmul_nt", dims={"M": 8192, "N": 8192, "K": 8192}, **TILES)
    a, b, c = randn(m, k), randn(n, k), poisoned(m, n)
    x, y, z = randn(8192, 8192), randn(8192, 8192), poisoned(8192, 8192)
    ours, peer = program.prepare(A=a, B=b, C=c), whole.prepare(A=x, B=y, C=z)
    ours()
    row.check("C", c, lambda: reference_matmul(a, b))
    row.compare([ours], [peer], flops=2 * m * n * k, peer_flops=2 * 8192**3)
    check_repeats(ours, [c], 20)


def few_rows(row, m, n, k, block_n, block_k, stages):
    """A product as wide as a layer and few rows: what counts is how fast B arrives."""
    program = tile("matmul_nt", dims={"M": m, "N": n, "K": k}, dtype="bf16", block_M=16, block_N=block_n, block_K=block_k, stages=stages)
    sets = session.sets(lambda: [randn(m, k), randn(n, k), poisoned(m, n), poisoned(m, n)])
    ours = [program.prepare(A=a, B=b, C=c) for a, b, c, _ in sets]
    ours[0]()
    row.check("C", sets[0][2], lambda: reference_matmul(*sets[0][:2]))
    row.compare(ours, [lambda s=s: torch.mm(s[0], s[1].T, out=s[3]) for s in sets], flops=2 * m * n * k, bytes_moved=2 * (m * k + n * k + m * n))
    check_repeats(ours[0], [sets[0][2]], 20)


def work_map(row, m, n, k, schedule, peer):
    """A product by another work map, against cuBLAS or against the default one."""
    dims = {"M": m, "N": n, "K": k}
    program = tile("matmul_nt", dims=dims, schedule=f"schedules/matmul_nt_{schedule}.schedule", **TILES)
    sets = session.sets(lambda: [randn(m, k), randn(n, k), poisoned(m, n), poisoned(m, n)])
    ours = [program.prepare(A=a, B=b, C=c) for a, b, c, _ in sets]
    if peer == "cuBLAS":
        other = [lambda s=s: torch.mm(s[0], s[1].T, out=s[3]) for s in sets]
    else:
        default = tile("matmul_nt", dims=dims, **TILES)
        other = [default.prepare(A=a, B=b, C=c) for a, b, _, c in sets]
    ours[0]()
    row.check("C", sets[0][2], lambda: reference_matmul(*sets[0][:2]))
    row.compare(ours, other, flops=2 * m * n * k)
    check_repeats(ours[0], [sets[0][2]], 20)


def older(row, m, n, k):
    """What an a100 would run, against the program written for it by hand."""
    program = tile("matmul_nt", device="a100", dims={"M": m, "N": n, "K": k}, dtype="bf16", block_M=128, block_N=128, block_K=32, stages=4)
    peer = hand("matmul_sm80")
    sets = session.sets(lambda: [randn(m, k), randn(n, k), poisoned(m, n), poisoned(m, n)])
    ours = [program.prepare(A=a, B=b, C=c) for a, b, c, _ in sets]
    ours[0]()
    row.check("C", sets[0][2], lambda: reference_matmul(*sets[0][:2]))
    row.compare(ours, [peer.prepare(A=a, B=b, C=c) for a, b, _, c in sets], flops=2 * m * n * k)
    check_repeats(ours[0], [sets[0][2]], 20)


def attention(row, b, h, s, causal):
    schedule = "schedules/attention_fwd_causal.schedule" if causal else "schedules/attention_fwd.schedule"
    program = tile("attention", schedule=schedule, dtype="bf16", D=D, block_M=128, block_N=128, causal=causal)
    roles = hand("attention_fwd", causal=causal, paired=causal)
    scale = 1 / math.sqrt(D)
    sets = session.sets(lambda: [randn(b, h, s, D) for _ in range(3)] + [poisoned(b, h, s, D) for _ in range(2)])
    ours = [program.prepare(Q=q, K=k, V=v, O=o) for q, k, v, o, _ in sets]
    peer = [roles.prepare(Q=q, K=k, V=v, O=o, scale_log2=scale * math.log2(math.e)) for q, k, v, _, o in sets]
    ours[0]()
    q, k, v, o, _ = sets[0]
    row.check("O", o, lambda: reference_attention(q, k, v, causal, scale))
    row.compare(ours, peer, flops=4 * b * h * s * s * D // (2 if causal else 1))
    check_repeats(ours[0], [o], 20)


for kernel, m, n, k, peer, bar in PRODUCTS:
    session.run(f"{kernel} {m}x{n}x{k} / {peer}", lambda row, a=(kernel, m, n, k, peer): product(row, *a), bar, needs=15)
session.run("matmul_nt 8191x8193x8200 / 8192x8192x8192", lambda row: unaligned(row, 8191, 8193, 8200), 0.90, needs=15)
session.run("matmul_nt 16x8192x8192 / cuBLAS", lambda row: few_rows(row, 16, 8192, 8192, 64, 256, 5), 0.80, needs=10)
for m, n, k, schedule, peer in WORK_MAPS:
    session.run(f"matmul_nt {m}x{n}x{k} {schedule} / {peer}", lambda row, a=(m, n, k, schedule, peer): work_map(row, *a), needs=10)
session.run("matmul_nt 4096x4096x4096 for a100 / matmul_sm80", lambda row: older(row, 4096, 4096, 4096), needs=10)
for b, h, s in ATTENTIONS:
    for causal in (False, True):
        name = f"attention B{b} H{h} S{s} {'causal' if causal else 'full'} / hand"
        session.run(name, lambda row, a=(b, h, s, causal): attention(row, *a), 0.97, needs=20)
session.finish()

"""What planners make of programs whose author says nothing, against what people wrote, and what was predicted against what is measured.

    python gpu/bench_planners.py --budget 300 --out planners.json [--mamba DIR] [--predictions FILE.json]

DIR holds the package mamba_ssm of the sdist on PyPI, whose Triton kernels are the peers of the chunk scan and the chunk state. FILE is what
scripts/predictions.py wrote: schedules with their predicted times, which are measured and ranked (docs/performance.md, "Planned").
"""

import json
import math
import re
import sys
import types

import torch

import plait_gpu
from bench_common import Session, capture, check_repeats, poisoned, randn, reference_attention, reference_matmul, rough_ms, Window

TILES = {"dtype": "bf16", "block_M": 128, "block_N": 256, "block_K": 64}
D = 128
B, H, G, P, N, L = 8, 80, 1, 64, 128, 256  # of the chunk kernels


def options(parser):
    parser.add_argument("--mamba", default="", help="folder with the package mamba_ssm")
    parser.add_argument("--predictions", default="", help="schedules with predicted times")


session = Session("planners", __doc__.splitlines()[0], options)
compiled = {}


def once(key, make):
    if key not in compiled:
        compiled[key] = make()
    return compiled[key]


def open_text(kernel):
    """The program without a word on pipelining."""
    return re.sub(r", stages=\w+\):", "):", plait_gpu.find_kernel(f"{kernel}.tile").read_text())


def planned(kernel, dims=None, planner="auto", **bindings):
    key = (kernel, str(dims), planner, str(sorted(bindings.items(), key=str)))
    return once(key, lambda: plait_gpu.Roles(open_text(kernel), f"{kernel}.tile", bindings=bindings, arch="sm_90a", device="h200", dims=dims, planner=planner))


def product(row, m, n, k):
    dims = {"M": m, "N": n, "K": k}
    program = planned("matmul_nt", dims, **TILES)
    peer = once(("rules", m, n, k), lambda: plait_gpu.Roles.tile("matmul_nt.tile", arch="sm_90a", dims=dims, **TILES))
    sets = session.sets(lambda: [randn(m, k), randn(n, k), poisoned(m, n), poisoned(m, n)])
    ours = [program.prepare(A=a, B=b, C=c) for a, b, c, _ in sets]
    ours[0]()
    row.check("C", sets[0][2], lambda: reference_matmul(*sets[0][:2]))
    row.compare(ours, [peer.prepare(A=a, B=b, C=c) for a, b, _, c in sets], flops=2 * m * n * k)
    check_repeats(ours[0], [sets[0][2]], 10)


def attention(row, b, h, s, causal):
    program = planned("attention", None, dtype="bf16", D=D, block_M=128, block_N=128, causal=causal)
    peer = once(("hand", causal), lambda: plait_gpu.Roles.file("attention_fwd", arch="sm_90a", causal=causal, paired=causal))
    scale = 1 / math.sqrt(D)
    sets = session.sets(lambda: [randn(b, h, s, D) for _ in range(3)] + [poisoned(b, h, s, D) for _ in range(2)])
    ours = [program.prepare(Q=q, K=k, V=v, O=o) for q, k, v, o, _ in sets]
    other = [peer.prepare(Q=q, K=k, V=v, O=o, scale_log2=scale * math.log2(math.e)) for q, k, v, _, o in sets]
    ours[0]()
    q, k, v, o, _ = sets[0]
    row.check("O", o, lambda: reference_attention(q, k, v, causal, scale))
    row.compare(ours, other, flops=4 * b * h * s * s * D // (2 if causal else 1))
    check_repeats(ours[0], [o], 10)


# ---- Mamba2 ------------------------------------------------------------------------------------------------------------


def peers():
    sys.path.insert(0, session.options.mamba)
    try:
        import einops  # noqa: F401
    except ImportError:  # the forward kernels import it and do without
        stand_in = types.ModuleType("einops")
        stand_in.rearrange = stand_in.repeat = None
        sys.modules["einops"] = stand_in
    from mamba_ssm.ops.triton.ssd_chunk_scan import _chunk_scan_fwd
    from mamba_ssm.ops.triton.ssd_chunk_state import _chunk_state_fwd
    return _chunk_scan_fwd, _chunk_state_fwd


def chunk_inputs(s):
    f16, draw = torch.float16, lambda: torch.rand(B, H, s // L, L, device="cuda") * 0.1
    return [randn(B, s // L, G, L, L, dtype=f16), randn(B, s, H, P, dtype=f16), draw(), -torch.cumsum(draw(), -1), randn(B, s, G, N, dtype=f16),
            randn(B, s // L, H, P, N, dtype=f16), randn(H, dtype=f16)]


def reference_scan(cb, x, dt, decay, c_in, states, skip):
    out = torch.empty(x.shape, dtype=torch.float64, device="cuda")
    lower = torch.ones(L, L, device="cuda", dtype=torch.bool).tril()
    for b in range(x.shape[0]):
        for c in range(x.shape[1] // L):
            rows = slice(c * L, (c + 1) * L)
            a, step = decay[b, :, c].double(), dt[b, :, c].double()
            weights = torch.exp(torch.where(lower, a[:, :, None] - a[:, None, :], 0)) * step[:, None, :]
            weights = torch.where(lower, cb[b, c, 0].double()[None] * weights, 0)
            values = x[b, rows].double().permute(1, 0, 2)
            carried = c_in[b, rows, 0].double()[None] @ states[b, c].double().transpose(1, 2)
            out[b, rows] = (weights @ values + torch.exp(a)[:, :, None] * carried + skip.double()[:, None, None] * values).permute(1, 0, 2)
    return out


def reference_states(x, b_in, dt, decay):
    out = torch.empty(x.shape[0], x.shape[1] // L, H, P, N, dtype=torch.float64, device="cuda")
    for b in range(x.shape[0]):
        for c in range(x.shape[1] // L):
            rows, a = slice(c * L, (c + 1) * L), decay[b, :, c].double()
            weights = torch.exp(a[:, -1:] - a) * dt[b, :, c].double()
            out[b, c] = (x[b, rows].double().permute(1, 2, 0) * weights[:, None, :]) @ b_in[b, rows, 0].double()[None]
    return out


def chunk_scan(row, s):
    program = planned("mamba2_chunk_scan", None)
    sets = session.sets(lambda: [*chunk_inputs(s), poisoned(B, s, H, P, dtype=torch.float16)])
    names = ["cb", "x", "dt", "dA_cumsum", "C", "prev_states", "D", "out"]
    ours = [program.prepare(**dict(zip(names, tensors))) for tensors in sets]
    ours[0]()
    row.check("out", sets[0][7], lambda: reference_scan(*sets[0][:7]))
    row.compare(ours, [lambda t=t: peers()[0](*t[:7]) for t in sets], flops=B * s * L * H * P + 2 * B * s * H * P * N)
    check_repeats(ours[0], [sets[0][7]], 10)


def chunk_state(row, s):
    program = planned("mamba2_chunk_state", None)
    sets = session.sets(lambda: [*chunk_inputs(s), poisoned(B, s // L, H, P, N, dtype=torch.float32)])
    ours = [program.prepare(x=t[1], Bm=t[4], dt=t[2], dA_cumsum=t[3], states=t[7]) for t in sets]
    ours[0]()
    # x is weighted and rounded to f16 before the product: the tolerance is that of f16.
    row.check("states", sets[0][7], lambda: reference_states(sets[0][1], sets[0][4], sets[0][2], sets[0][3]), 2e-3)
    row.compare(ours, [lambda t=t: peers()[1](t[4], t[1], t[2], t[3]) for t in sets], flops=2 * B * s * H * P * N)
    check_repeats(ours[0], [sets[0][7]], 10)


# ---- Predictions -------------------------------------------------------------------------------------------------------


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for i in order[begin:end]:
            out[i] = (begin + end - 1) / 2
        begin = end
    return out


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    size = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / size


def measure(entry):
    """Microseconds of a call, each of three windows, the median."""
    program = plait_gpu.Roles(entry["text"], entry["kernel"], bindings=entry["bindings"], arch="sm_90a", device="h200", dims=entry["dims"],
                              schedule=entry.get("schedule"), planner=entry.get("planner"))
    d = entry["dims"]
    if entry["kernel"].startswith("matmul"):
        tensors = {"A": randn(d["M"], d["K"]), "B": randn(d["N"], d["K"]), "C": poisoned(d["M"], d["N"])}
    else:
        shape = (d["B"], d["H"], d["Sq"], 128)
        tensors = {"Q": randn(*shape), "K": randn(*shape), "V": randn(*shape), "O": poisoned(*shape)}
    launch = program.prepare(**tensors)
    launch()
    window = Window([launch], max(8, min(256, round(2.0 / max(rough_ms(launch), 1e-3)))))
    return sorted(window.ms(0.02) for _ in range(3))[1] * 1e3


def predictions(row, kernel, entries):
    points = []
    for entry in entries:
        try:
            points.append({"what": entry["what"], "predicted_us": entry["predicted_us"], "measured_us": measure(entry)})
        except plait_gpu.Error as error:
            print("refused:", entry["what"], str(error).splitlines()[0])
    rho = spearman([p["predicted_us"] for p in points], [p["measured_us"] for p in points])
    row.note(f"Spearman {rho:.3f} of {len(points)} schedules", spearman=rho, points=points)
    if row.data["bar"] is not None:
        row.data["met"] = rho >= row.data["bar"]


for size in (8192, 4096):
    session.run(f"matmul_nt {size}x{size}x{size} / rules, stages=3", lambda row, s=size: product(row, s, s, s), 0.99, needs=15)
for b, s in ((4, 4096), (1, 16384)):
    for causal in (False, True):
        name = f"attention B{b} H16 S{s} {'causal' if causal else 'full'} / hand"
        session.run(name, lambda row, a=(b, 16, s, causal): attention(row, *a), 0.97, needs=20)
if session.options.mamba:
    for s in (4096, 16384):
        session.run(f"mamba2_chunk_scan S{s} / Triton", lambda row, s=s: chunk_scan(row, s), 1.3, needs=40)
        session.run(f"mamba2_chunk_state S{s} / Triton", lambda row, s=s: chunk_state(row, s), 1.3, needs=40)
if session.options.predictions:
    entries = json.load(open(session.options.predictions))
    for kernel in sorted({entry["kernel"] for entry in entries}):
        chosen = [entry for entry in entries if entry["kernel"] == kernel]
        session.run(f"predictions {kernel}", lambda row, a=(kernel, chosen): predictions(row, *a), 0.8, needs=60)
session.finish()

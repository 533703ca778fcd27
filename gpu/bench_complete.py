"""Kernels that move memory, convolutions and 4-bit weights against the device's copy, cuDNN, PyTorch and cuBLAS.

    python gpu/bench_complete.py --budget 400 --out complete.json [--only softmax]

Every tiling of gpu/complete_cases.py is compiled, checked and timed alone; the fastest one is compared with the peer. A tiling that is refused or wrong is listed with
its error. Peers run in graphs as plait does, but for the copy: in a stream, where it is faster.
"""

import itertools
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch

import plait_gpu
from bench_common import Session, check_repeats, poison, poisoned, randn, rough_ms
from complete_cases import CASES, label

EPS = 1e-5
ROW_SECONDS = 25  # of timed pairs; at least five are made
SLOW_MS = 30  # a launch that takes longer is timed once, and no pairs are made
session = Session("complete", __doc__.splitlines()[0])
torch.backends.cudnn.benchmark = True


# ---- Compiling --------------------------------------------------------------------------------------------------------


def build(job):
    """The program of a tiling, or the error that refuses it."""
    case, tiling = job
    try:
        return plait_gpu.Roles.tile(f"{case.kernel}.tile", arch="sm_90a", dims=case.dims, **tiling)
    except plait_gpu.Error as error:
        return error


def build_all(cases):
    """All tilings at once; NVRTC takes most of the time and runs on every core."""
    jobs = [(case, tiling) for case in cases for tiling in case.tilings]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(build, jobs))
    programs = {(case.name, case.peer): [] for case in cases}
    for (case, tiling), program in zip(jobs, built):
        programs[case.name, case.peer].append((label(tiling), program))
    return programs


# ---- Calls ------------------------------------------------------------------------------------------------------------
# Each is a function of a case: the tensors of one set by name, what plait and the peer call with them, how to check a result. Tensors of names that end in
# `_peer` are the peer's own.


class Call:
    """`peer(tensors)` does the peer's work; `before(tensors)`, where it is there, belongs to plait's; `check(row, tensors)` raises where a result is wrong."""

    outputs = ("Y",)
    bytes_moved = flops = before = None
    stream = False  # the peer is timed in a stream, not in a graph

    def given(self, tensors):
        return {name: value for name, value in tensors.items() if not name.endswith("_peer")}


class Rows(Call):
    """softmax, RMSNorm, LayerNorm, transpose: as many bytes as a copy moves."""

    stream = True

    def __init__(self, case):
        self.kernel, self.dtype = case.kernel, getattr(torch, {"bf16": "bfloat16", "f32": "float32"}[case.dtype])
        self.m, self.n = case.dims["M"], case.dims["N"]
        self.bytes_moved = 2 * self.m * self.n * self.dtype.itemsize

    def tensors(self):
        m, n = self.m, self.n
        made = {"X": randn(m, n, dtype=self.dtype), "Y": poisoned(*((n, m) if self.kernel == "transpose" else (m, n)), dtype=self.dtype)}
        for name in {"rmsnorm": ["W"], "layernorm": ["W", "bias"]}.get(self.kernel, []):
            made[name] = randn(n, dtype=self.dtype)
        return made | {"Y_peer": poisoned(m, n, dtype=self.dtype)}

    def peer(self, t):
        t["Y_peer"].copy_(t["X"])

    def want(self, t):
        x = t["X"].double()
        if self.kernel == "softmax":
            return torch.softmax(x, -1)
        if self.kernel == "rmsnorm":
            return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * t["W"].double()
        return torch.nn.functional.layer_norm(x, x.shape[-1:], t["W"].double(), t["bias"].double(), EPS)

    def check(self, row, t):
        if self.kernel == "transpose":
            row.check("Y", t["Y"], lambda: t["X"].T, 0.0)
        else:
            row.check("Y", t["Y"], lambda: self.want(t))


class Convolution(Call):
    def __init__(self, case):
        self.d = case.dims
        d = self.d
        self.flops = 2 * d["batch"] * d["OH"] * d["OW"] * d["F"] * d["C"] * d["KH"] * d["KW"]

    def tensors(self):
        d = self.d
        x = randn(d["batch"], d["H"], d["W"], d["C"], dtype=torch.float16)
        weights = randn(d["KH"], d["KW"], d["C"], d["F"], dtype=torch.float16, scale=0.02)
        return {"X": x, "Wt": weights, "Y": poisoned(d["batch"], d["OH"], d["OW"], d["F"], dtype=torch.float16), "X_peer": x.permute(0, 3, 1, 2),
                "Wt_peer": weights.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)}

    def peer(self, t):
        return torch.nn.functional.conv2d(t["X_peer"], t["Wt_peer"], stride=2, padding=1)

    def check(self, row, t):
        def want():
            return torch.nn.functional.conv2d(t["X_peer"].double(), t["Wt_peer"].double(), stride=2, padding=1).permute(0, 2, 3, 1)

        row.check("Y", t["Y"], want)


class TopK(Call):
    outputs = ("values", "indices")

    def __init__(self, case):
        self.m, self.n, self.k = case.dims["M"], case.dims["N"], case.tilings[0]["top"]
        self.bytes_moved = self.m * (4 * self.n + 8 * self.k)

    def tensors(self):
        values, indices = poisoned(self.m, self.k, dtype=torch.float32), poisoned(self.m, self.k, dtype=torch.int32)
        return {"X": randn(self.m, self.n, dtype=torch.float32), "values": values, "indices": indices,
                "values_peer": torch.empty_like(values), "indices_peer": torch.empty_like(indices, dtype=torch.int64)}

    def peer(self, t):
        torch.topk(t["X"], self.k, out=(t["values_peer"], t["indices_peer"]))

    def check(self, row, t):
        """Where values are equal any order of theirs would do for PyTorch, not for plait: the lowest index comes first."""
        values, indices = t["values"], t["indices"].long().clamp(0, self.n - 1)
        row.check("values", values, lambda: torch.topk(t["X"], self.k).values, 0.0)
        row.check("elements at the indices", t["X"].gather(1, indices), values, 0.0)
        later = (values[:, 1:] < values[:, :-1]) | (indices[:, 1:] > indices[:, :-1])
        row.check("order", later.float(), torch.ones_like(later, dtype=torch.float32), 0.0)


class CumulativeSum(Call):
    def __init__(self, case):
        self.m, self.n = case.dims["M"], case.dims["N"]
        self.bytes_moved = 8 * self.m * self.n

    def tensors(self):
        return {"X": randn(self.m, self.n, dtype=torch.float32), "Y": poisoned(self.m, self.n, dtype=torch.float32),
                "Y_peer": poisoned(self.m, self.n, dtype=torch.float32)}

    def peer(self, t):
        torch.cumsum(t["X"], -1, out=t["Y_peer"])

    def check(self, row, t):
        row.check("Y", t["Y"], lambda: t["X"].double().cumsum(-1))


class Histogram(Call):
    """plait adds to its counts, so clearing them belongs to its time. Of PyTorch's own `bincount` meets the host in every call and cannot be captured, and `histc` of
    bytes counts in bytes, which overflow: the first is right, the second is quick."""

    outputs = ()

    def __init__(self, case):
        self.n = self.bytes_moved = case.dims["N"]
        self.stream = case.peer == "bincount"

    def tensors(self):
        return {"X": torch.randint(0, 256, (self.n,), dtype=torch.uint8, device="cuda"), "counts": torch.zeros(256, dtype=torch.int32, device="cuda")}

    def before(self, t):
        t["counts"].zero_()

    def peer(self, t):
        return torch.bincount(t["X"], minlength=256) if self.stream else torch.histc(t["X"], 256, 0, 255)

    def check(self, row, t):
        row.check("counts", t["counts"].double(), lambda: torch.bincount(t["X"], minlength=256).double(), 0.0)


class Weights4(Call):
    """4-bit weights with a scale for each group of 128 along K, against a product of bf16 that reads four times the bytes."""

    outputs = ("C",)

    def __init__(self, case):
        self.m, self.n, self.k = (case.dims[name] for name in "MNK")
        self.group, self.dtype = case.tilings[0]["group"], {"bf16": torch.bfloat16, "f16": torch.float16}[case.dtype]
        self.flops = 2 * self.m * self.n * self.k
        self.bytes_moved = self.n * self.k // 2 + 2 * self.n * self.k // self.group + 2 * self.m * (self.n + self.k)

    def tensors(self):
        m, n, k = self.m, self.n, self.k
        a, packed = randn(m, k, dtype=self.dtype), torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device="cuda")
        return {"A": a, "W": plait_gpu.Packed(packed, "i4"), "scale": randn(n, k // self.group, dtype=self.dtype, scale=0.01), "C": poisoned(m, n, dtype=self.dtype),
                "A_peer": a.bfloat16(), "W_peer": randn(n, k), "C_peer": poisoned(m, n)}

    def peer(self, t):
        torch.mm(t["A_peer"], t["W_peer"].T, out=t["C_peer"])

    def check(self, row, t):
        def want():
            packed = t["W"].tensor
            low, high = packed & 15, packed >> 4
            weights = torch.stack([low, high], -1).view(self.n, self.k).to(torch.int8)
            weights = torch.where(weights > 7, weights - 16, weights).float()
            weights = (weights * t["scale"].float().repeat_interleave(self.group, 1)).to(self.dtype)  # rounded as the kernel rounds them
            return t["A"].double() @ weights.double().T

        row.check("C", t["C"], want)


CALLS = {"softmax": Rows, "rmsnorm": Rows, "layernorm": Rows, "transpose": Rows, "conv2d": Convolution, "topk": TopK, "cumsum": CumulativeSum,
         "histogram": Histogram, "matmul_int4": Weights4}


# ---- Rows of the table ------------------------------------------------------------------------------------------------


def storage(tensors):
    """The bytes of one set, views of others left out."""
    own = {t.data_ptr(): t.numel() * t.element_size() for t in (getattr(v, "tensor", v) for v in tensors.values())}
    return sum(own.values())


def launches(call, program, sets):
    prepared = [program.prepare(**call.given(t)) for t in sets]
    if call.before is None:
        return prepared
    return [lambda launch=launch, t=t: (call.before(t), launch()) for launch, t in zip(prepared, sets)]


def right_and_time(row, call, program, sets):
    """Milliseconds of a launch, once its result was found right."""
    for name in call.outputs:
        poison(sets[0][name])
    prepared = launches(call, program, sets)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    prepared[0]()
    end.record()
    end.synchronize()
    call.check(row, sets[0])
    if begin.elapsed_time(end) > SLOW_MS:
        return begin.elapsed_time(end)
    rotation = itertools.cycle(prepared)
    return rough_ms(lambda: next(rotation)(), max(2 * len(prepared), 4))


def case_row(row, case, programs):
    call = CALLS[case.kernel](case)
    sets = [call.tensors()]
    sets += [call.tensors() for _ in range(session.set_count(storage(sets[0])) - 1)]
    outcomes, best = {}, None
    for name, program in programs:
        try:
            if isinstance(program, Exception):
                raise program
            ms = outcomes[name] = right_and_time(row, call, program, sets)
            if best is None or ms < best[0]:
                best = (ms, name, program)
        except Exception as error:  # noqa: BLE001
            outcomes[name] = f"{type(error).__name__}: {error}"
        print(f"  {case.name:<44} {name:<36} {outcomes[name] if isinstance(outcomes[name], str) else f'{outcomes[name] * 1e3:.1f} us'}", flush=True)
    row.set(tilings=outcomes)
    if best is None:
        raise plait_gpu.Error("no tiling ran")
    ms, name, program = best
    row.note(name, report={key: program.report[key] for key in ("registers", "spill_store_bytes", "smem_bytes")})
    ours = launches(call, program, sets)
    peer = [lambda t=t: call.peer(t) for t in sets]
    if ms > SLOW_MS:
        peer_ms = rough_ms(peer[0])
        row.note(f"{name}: {ms:.0f} ms, the peer {peer_ms:.3g}: timed once", ours_ms=ms, peer_ms=peer_ms, rough_ratio=peer_ms / ms)
        if case.bar is not None:
            row.set(met=False)
        return
    row.compare(ours, peer, flops=call.flops, bytes_moved=call.bytes_moved, peer_in_stream=call.stream, deadline=min(session.deadline, time.monotonic() + ROW_SECONDS))
    if call.outputs:
        check_repeats(ours[0], [sets[0][name] for name in call.outputs], 20)


chosen = [case for case in CASES if session.options.only in case.name]
programs = build_all(chosen)
for case in chosen:
    session.run(f"{case.name} / {case.peer}", lambda row, a=case: case_row(row, a, programs[a.name, a.peer]), case.bar, needs=20)
if session.remaining() > 15:
    session.ceilings()
session.finish()

"""A product and a row-wise kernel fused into one launch (`plait fuse`) against the two one after the other, and against the two on streams of their own.

    python gpu/bench_fuse.py --budget 300 --out fuse.json [--only NAME]

The peers run with the tiles that are best for them alone; the fused kernel has those that fit beside each other. Rows of the vector kernel are so many that it
takes about as long alone as the product, or half of that.
"""

import torch

import plait_gpu
from bench_common import Session, check_repeats, poisoned, randn, reference_matmul
from test_fuse import fused, rmsnorm, softmax

session = Session("fuse", __doc__.splitlines()[0])
compiled = {}


def once(key, make):
    if key not in compiled:
        compiled[key] = make()
    return compiled[key]


class Apart:
    """Both kernels, one after the other on one stream, or each on its own."""

    def __init__(self, launches, streams):
        self.launches, self.side = launches, torch.cuda.Stream() if streams else None

    def __call__(self):
        first, second = self.launches
        if self.side is None:
            first()
            second()
            return
        here = torch.cuda.current_stream()
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):
            second()
        first()
        here.wait_stream(self.side)


def row_tensors(kind, m, n):
    x, y, w = randn(m, n), poisoned(m, n), randn(n)
    return {"X": x, "Y": y} if kind == "softmax" else {"X": x, "W": w, "Y": y}


def both(row, size, kind, shape, tiles, blocks, streams):
    m, n = shape
    dims = [f"matmul_nt.M={size}", f"matmul_nt.N={size}", f"K={size}", f"{kind}.M={m}", f"{kind}.N={n}"]
    bindings = ["dtype=bf16", *tiles]
    kernel = once(("fused", size, kind, shape, tuple(tiles), blocks),
                  lambda: fused("matmul_nt", kind, bindings, dims, blocks=[f"{kind}={blocks}"]))
    alone = once(("matmul", size), lambda: plait_gpu.Roles.tile("matmul_nt.tile", arch="sm_90a", dims={"M": size, "N": size, "K": size}, dtype="bf16", block_M=128,
                                                                block_N=256, block_K=64))
    vector = once((kind, shape), lambda: plait_gpu.Roles.tile(f"{kind}.tile", arch="sm_90a", dims={"M": m, "N": n}, dtype="bf16"))
    sets = session.sets(lambda: [randn(size, size), randn(size, size), poisoned(size, size), *row_tensors(kind, m, n).values(), poisoned(size, size), poisoned(m, n)])
    names = ["X", "Y"] if kind == "softmax" else ["X", "W", "Y"]
    ours, peer = [], []
    for a, b, c, *values, other_c, other_y in sets:
        given = dict(zip(names, values))
        ours.append(kernel.prepare(A=a, B=b, C=c, **given))
        peer.append(Apart([alone.prepare(A=a, B=b, C=other_c), vector.prepare(**{**given, "Y": other_y})], streams))
    ours[0]()
    peer[0]()
    a, b, c, *values, other_c, other_y = sets[0]
    given = dict(zip(names, values))
    want = (lambda: softmax(given["X"])) if kind == "softmax" else (lambda: rmsnorm(given["X"], given["W"]))
    row.check("C", c, lambda: reference_matmul(a, b))
    row.check("Y", given["Y"], want)
    row.check("Y of the peer", other_y, want)
    row.compare(ours, peer, flops=2 * size**3)
    check_repeats(ours[0], [c, given["Y"]], 10)


# Product, rows: of what the vector kernel moves, 4096 rows of 8192 take some 30 us of an H200's memory, a product of 4096 some 190 us, one of 8192 1500 us.
CASES = [(4096, "rmsnorm", (16384, 8192)), (4096, "rmsnorm", (8192, 8192)), (4096, "softmax", (16384, 8192)), (8192, "rmsnorm", (65536, 8192)),
         (8192, "softmax", (65536, 8192))]
TILES = [(["matmul_nt.block_N=128", "{kind}.block_M=1"], 1), (["matmul_nt.block_N=128", "{kind}.block_M=4"], 1), (["matmul_nt.block_N=128", "{kind}.block_M=4"], 2)]
for size, kind, shape in CASES:
    for tiles, blocks in TILES:
        tiles = [t.format(kind=kind) for t in tiles]
        label = f"matmul {size} + {kind} {shape[0]}x{shape[1]} {tiles[1].split('.')[1]} x{blocks}"
        for streams in (False, True):
            against = "two streams" if streams else "one after the other"
            session.run(f"{label} / {against}", lambda row, a=(size, kind, shape, tiles, blocks, streams): both(row, *a), needs=10)
session.finish()

"""A product and a row-wise kernel fused into one launch (`plait fuse`) against the two one after the other, and against the two on streams of their own.

    python gpu/bench_fuse.py --budget 300 --out fuse.json [--only NAME]

The peers run with the tiles that are best for them alone; the fused kernel has those that fit beside each other. Rows of the vector kernel are so many that it
takes about as long alone as the product, or half of that.
"""

import torch

import plait_gpu
from bench_common import Session, check_repeats, poisoned, randn, reference_matmul, rough_ms
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


def fastest(kernel, choices, dims, tensors):
    """Of tile programs that differ in their tiles the one that takes the least time alone."""

    def make():
        made = [plait_gpu.Roles.tile(f"{kernel}.tile", arch="sm_90a", dims=dims, dtype="bf16", **tiles) for tiles in choices]
        return min(made, key=lambda program: rough_ms(program.prepare(**tensors)))

    return once((kernel, str(dims)), make)


def both(row, size, kind, shape, tiles, blocks, streams):
    m, n = shape
    dims = [f"matmul_nt.M={size}", f"matmul_nt.N={size}", f"K={size}", f"{kind}.M={m}", f"{kind}.N={n}"]
    kernel = once(("fused", size, kind, shape, tuple(tiles), blocks),
                  lambda: fused("matmul_nt", kind, ["dtype=bf16", *tiles], dims, blocks=[f"{kind}={blocks}"] if blocks else []))
    a, b, c = randn(size, size), randn(size, size), poisoned(size, size)
    alone = fastest("matmul_nt", [{"block_M": 128, "block_N": 256, "block_K": 64}, {"block_N": 128}], {"M": size, "N": size, "K": size}, {"A": a, "B": b, "C": c})
    vector = fastest(kind, [{"block_M": 1}, {"block_M": 4}], {"M": m, "N": n}, row_tensors(kind, m, n))
    del a, b, c
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


# Of what the rows move, 16384 of 4096 take some 60 us of an H200's memory; a product of 4096 takes some 190 us, one of 8192 some 1500.
CASES = [(4096, "softmax", (16384, 4096)), (4096, "softmax", (32768, 4096)), (4096, "rmsnorm", (16384, 4096)), (4096, "rmsnorm", (32768, 4096)),
         (8192, "softmax", (131072, 4096)), (8192, "rmsnorm", (131072, 4096))]
# Tiles beside each other, and how many blocks of the rows are in one: as many as fit, or so many.
TILES = [(["matmul_nt.block_N=128", "{kind}.block_M=1"], None), (["matmul_nt.block_N=128", "{kind}.block_M=4"], None),
         (["matmul_nt.block_N=128", "{kind}.block_M=4"], 1)]
for size, kind, shape in CASES:
    for tiles, blocks in TILES:
        tiles = [t.format(kind=kind) for t in tiles]
        label = f"matmul {size} + {kind} {shape[0]}x{shape[1]} {tiles[1].split('.')[1]}{f' blocks={blocks}' if blocks else ''}"
        for streams in (False, True):
            against = "two streams" if streams else "one after the other"
            session.run(f"{label} / {against}", lambda row, a=(size, kind, shape, tiles, blocks, streams): both(row, *a), needs=10)
session.finish()

"""The ladder of docs/performance.md: one product, each rung adding one idea, against cuBLAS.

    python gpu/ladder.py --budget 120 --out ladder.json
"""

import torch

import plait_gpu
from bench_common import Session, poisoned, randn, reference_matmul

RUNGS = [  # name, program, parameters
    ("1 wgmma and TMA, nothing overlaps", "ladder/ladder_1", {}),
    ("2 producer and consumer", "ladder/ladder_2", {}),
    ("3 128x256 over two consumers", "ladder/ladder_3", {}),
    ("4 persistent, direct stores", "ladder/ladder_4", {}),
    ("5 stores through TMA", "matmul_coop", {"group": 1}),
    ("6 tiles in groups of 8 rows", "matmul_coop", {}),
    ("7 clusters with multicast", "matmul_multicast", {}),
]
M = N = K = 8192

session = Session("ladder", __doc__.splitlines()[0])


def rung(row, name, parameters):
    roles = plait_gpu.Roles.file(name, **parameters)
    sets = session.sets(lambda: [randn(M, K), randn(N, K), poisoned(M, N)])
    ours = [roles.prepare(A=a, B=b, C=c) for a, b, c in sets]
    peer = [lambda s=s: torch.mm(s[0], s[1].T, out=s[2]) for s in sets]
    ours[0]()
    row.check("C", sets[0][2], lambda: reference_matmul(*sets[0][:2]))
    row.compare(ours, peer, flops=2 * M * N * K)


for title, program, values in RUNGS:
    session.run(title, lambda row, p=program, v=values: rung(row, p, v), needs=10)
session.finish()

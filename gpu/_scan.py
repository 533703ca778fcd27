import re,sys
src=open('gpu/bench_pipeline.py').read()
src=src[:src.index('for kernel, m, n, k, peer, bar in PRODUCTS')]
exec(compile(src,'gpu/bench_pipeline.py','exec'))
session.run("unaligned", lambda row: unaligned(row, 8191, 8193, 8200), 0.90, needs=15)
for bn,bk,st in [(64,128,10),(64,128,9),(64,64,20),(64,64,12),(64,256,5),(128,128,5)]:
    session.run(f"m16 {bn} {bk} {st}", lambda row,bn=bn,bk=bk,st=st: few_rows(row,16,8192,8192,bn,bk,st), 0.8, needs=8)
session.finish()

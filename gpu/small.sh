#!/usr/bin/env bash
# Every role program at the small sizes that docs/performance.md simulates: time of one launch, as JSON lines. gpu/small.sh >small.jsonl
set -uo pipefail
cd "$(dirname "$0")/.."
plait=${PLAIT_PROGRAM:-bin/plait}
roles=share/plait/roles
[ -d "$roles" ] || roles=tests/roles
while read -r name arguments; do
  # shellcheck disable=SC2086
  "$plait" run "$roles/$name.roles" $arguments --bench --json 2>/dev/null | tr -d '\n'
  echo
done <<END
matmul_coop --dim M=256 --dim N=512 --dim K=4096
matmul_multicast --dim M=512 --dim N=256 --dim K=4096
matmul_pingpong --dim M=512 --dim N=256 --dim K=4096
matmul_sm80 --dim M=256 --dim N=512 --dim K=4096
attention_fwd --dim B=1 --dim H=1 --dim S=2048 --scalar scale_log2=0.1275
attention_fwd -D causal=true -D paired=true --dim B=1 --dim H=1 --dim S=2048 --scalar scale_log2=0.1275
softmax_rows --dim M=64 --dim N=1024
copy_bulk --dim N=1000000
copy_rows --dim M=128 --dim N=1024
END

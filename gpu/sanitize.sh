#!/usr/bin/env bash
# Every role program at a small size under compute-sanitizer: gpu/sanitize.sh [memcheck synccheck racecheck]
set -uo pipefail
cd "$(dirname "$0")/.."
plait=${PLAIT_PROGRAM:-bin/plait}
roles=share/plait/roles
[ -d "$roles" ] || roles=tests/roles
product="--dim M=392 --dim N=520 --dim K=328"
attention="--dim B=1 --dim H=4 --dim S=300 --scalar scale_log2=0.1275"
bad=0
for tool in "${@:-memcheck}"; do
  while read -r name arguments; do
    log=$(mktemp)
    # shellcheck disable=SC2086
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$plait" run "$roles/$name.roles" $arguments >"$log" 2>&1
    code=$?
    summary=$(grep -E "ERROR SUMMARY|RACECHECK SUMMARY" "$log" | tail -n 1 | sed 's/^=* *//')
    echo "$tool $name $arguments: exit $code, ${summary:-no summary}"
    if [ $code -ne 0 ]; then
      bad=1
      grep -v "^=========     " "$log" | head -n 12
    fi
    rm -f "$log"
  done <<END
matmul_coop $product
matmul_coop $product -D in_flight=1
matmul_multicast $product
matmul_pingpong $product
matmul_sm80 $product
attention_fwd $attention
attention_fwd $attention -D causal=true -D paired=true
softmax_rows --dim M=37 --dim N=500
copy_bulk --dim N=1000004
copy_rows --dim M=37 --dim N=1500
END
done
exit $bad

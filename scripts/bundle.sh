#!/usr/bin/env bash
# One folder and a compressed tar of it that run on any x86-64 Linux with glibc >= 2.36: the CLI, libplait, the libraries they need but glibc's own,
# the headers, the kernels, the role programs, what tests and measures GPUs. LLVM is linked in statically, with the host's code generator alone.
set -euo pipefail
cd "$(dirname "$0")/.."
limit_mib=48
newest_glibc=2.36
out=build/bundle/plait
archive=build/bundle/plait.tar.xz

fail() {
  echo "error: $*" >&2
  exit 1
}

cmake --preset portable >/dev/null
cmake --build --preset portable -j "${JOBS:-$(nproc)}"
rm -rf build/bundle
cmake --install build/portable --prefix "$out" --strip >/dev/null
cp README.md LICENSE "$out/"

# Everything the two load that glibc does not bring, each finding its own needs beside it.
glibc='/(libc|libm|libmvec|libpthread|libdl|librt|libresolv|ld-linux-x86-64)\.so'
ldd "$out/bin/plait" "$out/lib/libplait.so" | awk '$2 == "=>" {print $3}' | grep -vE "$glibc|/libplait\.so" | sort -u | while read -r library; do
  [ -f "$library" ] || fail "a library is missing: $library"
  cp -L "$library" "$out/lib/"
done
for library in "$out"/lib/*.so*; do
  [ -L "$library" ] || patchelf --set-rpath '$ORIGIN' "$library"
done

# Beside the installed tree: what the source tree holds for other machines.
copy_tree() {  # SOURCE TARGET
  [ -d "$1" ] || return 0
  mkdir -p "$2"
  cp -rL "$1/." "$2/"
}
copy_tree tests/roles "$out/share/plait/roles"
copy_tree kernels "$out/share/plait/kernels"
copy_tree machines "$out/share/plait/machines"
copy_tree gpu "$out/gpu"
copy_tree examples/engine "$out/examples/engine"
copy_tree tests/gpu "$out/gpu/tests"
copy_tree bench/gpu "$out/gpu/bench"
find "$out" -name '__pycache__' -prune -exec rm -r {} +

# No symbol that an older glibc lacks. libstdc++ and libgcc are in the folder.
newer=$(find "$out" -type f \( -name 'plait' -o -name '*.so*' \) -exec objdump -T {} + 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sort -u |
  awk -F_ -v limit="$newest_glibc" '{split($2, is, "."); split(limit, most, "."); if (is[1] > most[1] || is[1] == most[1] && is[2] > most[2]) print $0}')
[ -z "$newer" ] || fail "the bundle needs a glibc newer than $newest_glibc:" $newer

tar -C build/bundle --owner=0 --group=0 --sort=name -cf - plait | xz -1 -T0 >"$archive"
size=$(stat -c %s "$archive")
[ "$size" -le $((limit_mib * 1024 * 1024)) ] || fail "$archive is larger than $limit_mib MiB: $size bytes"
scripts/check_bundle.sh "$archive"
echo "$archive: $((size / 1024 / 1024)) MiB; folder $out"

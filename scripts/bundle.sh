#!/usr/bin/env bash
# One folder and a compressed tar of it that run on any x86-64 Linux with glibc >= 2.36: the CLI, libplait, the libraries they need but glibc's own,
# the headers, the kernels. LLVM is linked in statically, with the host's code generator alone.
set -euo pipefail
cd "$(dirname "$0")/.."
limit_mib=48
out=build/bundle/plait
cmake --preset portable >/dev/null
cmake --build --preset portable -j "$(nproc)"
rm -rf build/bundle
cmake --install build/portable --prefix "$out" --strip >/dev/null
cp README.md LICENSE "$out/"
libdir=$(dirname "$(find "$out" -name 'libplait.so' | head -n 1)")
# Everything the two load that glibc does not bring.
for file in "$out/bin/plait" "$libdir/libplait.so"; do
  ldd "$file" | awk '$3 ~ /^\// {print $3}'
done | sort -u | grep -vE '/(libc|libm|libmvec|libpthread|libdl|librt|libresolv)\.so' | while read -r library; do
  case "$library" in
    */libplait.so*) ;;
    *) cp -L "$library" "$libdir/" ;;
  esac
done
# A copied library finds its own needs beside it.
for library in "$libdir"/*.so*; do
  [ -L "$library" ] || patchelf --set-rpath '$ORIGIN' "$library" 2>/dev/null || true
done
env -i "$out/bin/plait" run "$out/share/plait/kernels/matmul.tile" --dim M=65 --dim N=66 --dim K=67 --verify >/dev/null
tar -C build/bundle -cf - plait | xz -6 -T0 >build/bundle/plait.tar.xz
size=$(stat -c %s build/bundle/plait.tar.xz)
echo "build/bundle/plait.tar.xz: $((size / 1024 / 1024)) MiB; folder $out"
if [ "$size" -gt $((limit_mib * 1024 * 1024)) ]; then
  echo "error: the bundle is larger than $limit_mib MiB" >&2
  exit 1
fi

#!/usr/bin/env bash
# Installs the Debian packages of the named groups that are missing; does nothing, and needs no root, when all are there.
set -euo pipefail

build=(g++ cmake ninja-build ccache make python3 python3-numpy
       llvm-22-dev llvm-22-tools libisl-dev libz3-dev libfmt-dev libcli11-dev nlohmann-json3-dev libsqlite3-dev
       libtbb-dev libgtest-dev libgmock-dev)
dev=(clang-22 clang-tidy-22 clang-format-22 libclang-rt-22-dev)
bench=(libopenblas-dev libdnnl-dev)
bundle=(patchelf xz-utils libzstd-dev zlib1g-dev libxml2-dev libffi-dev libedit-dev libcurl4-openssl-dev)

wanted=()
for group in "$@"; do
  declare -n packages="$group"
  wanted+=("${packages[@]}")
done

missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
  echo "error: these Debian packages are missing and installing them needs root. Run:" >&2
  echo "  sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  echo "error: apt-get not found; plait's set-up knows Debian 12. Install the equivalents of: ${missing[*]}" >&2
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "error: apt-get could not install the packages above (Debian 12 with its security archive has them all)" >&2
  exit 1
fi

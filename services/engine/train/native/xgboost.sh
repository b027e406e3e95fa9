#!/usr/bin/env bash
# Builds XGBoost once, as one static library, from the source that its crate carries, and prints the folder that
# holds it. The folder's name is a stamp of version and flags, so that every checkout and cargo profile shares it.
set -euo pipefail

# several files as one unit: what all include is read, and what many use compiled, less often
flags=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DBUILD_STATIC_LIB=ON -DUSE_OPENMP=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON)
version=3.4.0
cache=${RANKWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankwright}
stamp=$(printf '%s' "$version ${flags[*]} $(uname -m)" | sha256sum | cut -c1-12)
home=$cache/native/xgboost-$version-$stamp

if [ ! -f "$home/libxgboost.a" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  source=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/src" -maxdepth 2 -type d -name "xgboost_lib-sys-$version" | head -n 1)
  [ -n "$source" ] || { echo "the source of xgboost_lib-sys $version is missing: run 'cargo fetch' first" >&2; exit 1; }
  cp -r "$source/xgboost" "$work/source" # the build writes into its source folder
  {
    cmake -S "$work/source" -B "$work/build" -GNinja "${flags[@]}"
    nice cmake --build "$work/build" --target xgboost
    merge=$work/libxgboost.a
    objects=$(find "$work/source/lib" "$work/build" -name libxgboost.a | head -n 1)
    support=$(find "$work/source/lib" "$work/build" -name libdmlc.a | head -n 1)
    printf 'create %s\naddlib %s\naddlib %s\nsave\nend\n' "$merge" "$objects" "$support" | ar -M
  } >&2
  mkdir -p "$home"
  mv "$work/libxgboost.a" "$home/libxgboost.a.new"
  mv "$home/libxgboost.a.new" "$home/libxgboost.a" # whole or not at all
fi
printf '%s\n' "$home"

#!/usr/bin/env bash
# Fetches the libraries of XGBoost and LightGBM once, from their packages on PyPI, and prints the folder that holds them.
# The folder's name is a digest of what is asked for, so that every checkout shares it. Needs python3 with venv.
set -euo pipefail

asked=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/boosters.txt
machine=$(uname -m)
cache=${RANKWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankwright}
home=$cache/native/boosters-$(cat "$asked" <(echo "$machine") | sha256sum | cut -c1-12)

if [ ! -d "$home" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work" "${new:-}"' EXIT
  mkdir -p "$cache/native"
  {
    python3 -m venv "$work/python"
    platforms=()
    for tag in manylinux_2_28 manylinux_2_27 manylinux2014; do platforms+=(--platform "${tag}_$machine"); done
    # the libraries run with any version of Python, the packages do not
    "$work/python/bin/pip" --quiet --disable-pip-version-check download --require-hashes --no-deps --only-binary :all: \
      --python-version 3.12 "${platforms[@]}" --dest "$work" --requirement "$asked"
    new=$(mktemp -d "$cache/native/new.XXXXXX")
    for package in "$work"/*.whl; do python3 -m zipfile --extract "$package" "$new"; done
    # what a program asks for that is linked with it
    ln -s libxgboost.so "$new/xgboost/lib/libxgboost.so.3"
    cp "$asked" "$new/boosters.txt" # by which a build finds them
    chmod 755 "$new"
    mv --no-target-directory "$new" "$home" || [ -d "$home" ] # another run was faster
  } >&2
fi
printf '%s\n' "$home"

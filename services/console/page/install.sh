#!/usr/bin/env bash
# Installs the packages of the page, for its build and its tests, once, and prints their folder: install.sh FOLDER
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$1/page-$(cat "$here/package.json" "$here/package-lock.json" <(uname -ms) | sha256sum | cut -c1-12)
if [ ! -f "$target/complete" ]; then
  rm -rf "$target"
  mkdir -p "$target"
  cp "$here/package.json" "$here/package-lock.json" "$target"
  # no package has to run anything to be installed
  npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund --loglevel error >&2
  touch "$target/complete"
fi
echo "$target/node_modules"

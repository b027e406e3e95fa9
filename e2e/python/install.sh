#!/usr/bin/env bash
# Makes a folder of Python packages for tests, once, and prints its interpreter: install.sh FOLDER
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$1/python-$(cat "$here/requirements.txt" <(python3 --version) <(uname -m) | sha256sum | cut -c1-12)
if [ ! -f "$target/complete" ]; then
  rm -rf "$target"
  python3 -m venv "$target" >&2
  "$target/bin/pip" --quiet --disable-pip-version-check install --only-binary :all: --requirement "$here/requirements.txt" >&2
  touch "$target/complete"
fi
echo "$target/bin/python"

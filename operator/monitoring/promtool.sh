#!/usr/bin/env bash
# Prints the path of promtool: promtool.sh
#
# It is the one in PATH, else that of Debian's package prometheus, which is fetched once and not installed.
set -euo pipefail
found=$(command -v promtool || true)
[ -z "$found" ] || exec echo "$found"
cache=${RANKWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankwright}/promtool
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # tests run side by side
if [ ! -x "$cache/promtool" ]; then
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || {
    echo "promtool is missing, and there is no apt-get to fetch it with" >&2
    exit 1
  }
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  cd "$work"
  { apt-get -qq download prometheus || { apt-get -qq update && apt-get -qq download prometheus; }; } >"$cache/log" 2>&1 || {
    echo "promtool is missing, and Debian's package prometheus cannot be fetched: see $cache/log" >&2
    exit 1
  }
  dpkg --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
  mv usr/bin/promtool "$cache/promtool"
fi
echo "$cache/promtool"

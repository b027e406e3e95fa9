#!/usr/bin/env bash
# Writes the image of Rankwright without Docker, of programs that are built: product.sh OUT.tar [PROGRAMS-FOLDER]
#
# It holds what the Dockerfile's holds: the operator and all programs, without debug information (names of functions stay,
# for stack traces), the libraries that they are linked with, and the certificates of public authorities. Pods call it
# rankwright:VERSION; IMAGE_NAME gives it another name, with a host part.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$1 programs=${2:-${CARGO_TARGET_DIR:-$here/../../target}/release}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=()
for name in rankwright rank-server ingest-worker training-job rankwright-operator; do
  [ -x "$programs/$name" ] || { echo "$programs/$name is missing: cargo build --release --workspace --bins builds it" >&2; exit 1; }
  strip --strip-debug -o "$work/$name" "$programs/$name"
  files+=("$work/$name=usr/local/bin/$name")
done
printf 'hosts: files dns\n' >"$work/nsswitch.conf"
IMAGE_LABELS="org.opencontainers.image.title=Rankwright
org.opencontainers.image.licenses=Apache-2.0
org.opencontainers.image.version=$version" \
  "$here/image.sh" "$out" "${IMAGE_NAME:-docker.io/library/rankwright:$version}" "${files[@]}" \
  "$work/nsswitch.conf=etc/nsswitch.conf" /etc/ssl/certs/ca-certificates.crt=etc/ssl/certs/ca-certificates.crt

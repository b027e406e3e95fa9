#!/usr/bin/env bash
# Writes the image of Rankwright without Docker, of programs that are built: product.sh OUT.tar [PROGRAMS-FOLDER]
#
# It does what the Dockerfile says from the built programs on: runs the command that makes the root of the image, and takes
# labels, environment, user and entrypoint from there. ONNX Runtime is that of RANKWRIGHT_ENCODERS_DIR, or is
# fetched. Pods call it rankwright:VERSION; IMAGE_NAME gives it another name, with a host part.
set -euo pipefail
umask 022 # who runs the image is none of those whom this machine trusts
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$1 programs=$(realpath "${2:-${CARGO_TARGET_DIR:-$here/../../target}/release}")
die() { echo "error: $*" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One line for each instruction, and those of the last stage.
sed -e '/^#/d' -e ':join' -e '/\\$/{N;s/\\\n *//;bjoin}' "$here/../../Dockerfile" >"$work/all"
sed -n '/^FROM scratch$/,$p' "$work/all" >"$work/last"
others=$(grep -v '^FROM scratch$\|^COPY --from=build /root-of-image/ /$\|^WORKDIR /$\|^\(ARG\|LABEL\|ENV\|USER\|ENTRYPOINT\) ' "$work/last") || true
[ -z "$others" ] || die "product.sh does not know these lines of the Dockerfile: $others"
make=$(sed -n 's#^RUN \(mkdir -p /root-of-image/.*\)#\1#p' "$work/all")
[ -n "$make" ] || die "the Dockerfile has no command that makes /root-of-image"
said() { sed -n "s/^$1 //p" "$work/last"; }

PROGRAMS='' VERSION='' labels=() environment=() entrypoint=()
eval "$(sed -n 's/^ARG \([A-Z]*=.*\)/\1/p' "$work/all")" # the defaults
eval "labels=($(said LABEL)) environment=($(said ENV)) entrypoint=($(said ENTRYPOINT | tr -d '[],'))"
for program in $PROGRAMS; do
  [ -x "$programs/$program" ] || die "$programs/$program is missing: cargo build --release --workspace --bins builds it"
done
native=$here/../../services/engine/encoder/native
if [ -z "${RANKWRIGHT_ENCODERS_DIR:-}" ]; then
  RANKWRIGHT_ENCODERS_DIR=${RANKWRIGHT_CACHE:-$HOME/.cache/rankwright}/native/onnxruntime-$(sha256sum <"$native/onnxruntime.txt" | cut -c1-12)
  "$native/fetch.sh" "$RANKWRIGHT_ENCODERS_DIR" --runtime
fi
make=${make//\/root-of-image/$work\/root}
make=${make//\/onnxruntime-of-image/$RANKWRIGHT_ENCODERS_DIR\/onnxruntime}
PROGRAMS=$PROGRAMS sh -euc "${make//\/programs\//$programs\/}"
IMAGE_LABELS=$(printf '%s\n' "${labels[@]}") IMAGE_ENV=$(printf '%s\n' "${environment[@]}") IMAGE_USER=$(said USER) \
  "$here/image.sh" "$out" "${IMAGE_NAME:-docker.io/library/rankwright:$VERSION}" "$work/root" -- "${entrypoint[@]}"

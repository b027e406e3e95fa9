#!/usr/bin/env bash
# Makes the files of a release: release.sh FOLDER IMAGE. IMAGE is NAME@sha256:…, which charts and manifests then name.
#
#   rankwright-crds-VERSION.tgz, rankwright-operator-VERSION.tgz   the charts
#   operator.yaml                        the operator without Helm
#   rankingservices.yaml                 the definition alone
#   kubectl-rankwright-vVERSION.zip, rankwright.yaml   the kubectl plugin, and krew's manifest
#   bundle/                              the OLM bundle, with what its image is made of
#
# Needs Helm and python3. .github/workflows/release.yml adds the SBOM, checksums and signatures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ $# -eq 2 && $2 =~ ^[^@]+@sha256:[0-9a-f]{64}$ ]] || { echo "usage: manifests/release.sh FOLDER NAME@sha256:DIGEST" >&2; exit 2; }
image=$2 name=${2%@*} digest=${2#*@}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -z "$(ls -A "$folder")" ] || { echo "error: $folder is not empty" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)

cp -r charts/rankwright-crds charts/rankwright-operator "$work"
# once FILE FROM TO: replaces a line that has to be there.
once() { grep -qx -- "$2" "$1" || { echo "error: $1 has no line '$2'" >&2; exit 1; }; sed -i "s|^$2\$|$3|" "$1"; }
once "$work/rankwright-operator/values.yaml" '  repository: rankwright' "  repository: $name"
once "$work/rankwright-operator/values.yaml" '  digest: ""' "  digest: $digest"
once "$work/rankwright-operator/Chart.yaml" "      image: rankwright:$version" "      image: $image"
for chart in rankwright-crds rankwright-operator; do helm package --destination "$folder" "$work/$chart" >/dev/null; done
IMAGE=$image manifests/render.sh >"$folder/operator.yaml"
cp crds/rankingservices.yaml "$folder/rankingservices.yaml"
manifests/krew/pack.py "$folder"
manifests/olm/render.sh "$folder/bundle" "$image"

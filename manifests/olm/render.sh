#!/usr/bin/env bash
# Writes the OLM bundle (registry+v1): render.sh FOLDER [IMAGE]. IMAGE is NAME:TAG or NAME@sha256:…; default: the chart's.
#
# Everything comes from the operator's chart, the definition in crds/ and manifests/samples: csv.yaml is rendered as one more template
# of that chart. Needs Helm. `docker build -f FOLDER/bundle.Dockerfile FOLDER` makes the image of the bundle.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: manifests/olm/render.sh FOLDER [IMAGE]" >&2; exit 2; }
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r charts/rankwright-operator "$work/chart"
mkdir -p "$work/chart/olm/samples" "$folder/manifests" "$folder/metadata"
cp crds/rankingservices.yaml docs/images/icon.svg manifests/olm/descriptors.yaml "$work/chart/olm"
sed -i '/^#/d' "$work/chart/olm/descriptors.yaml"
cp manifests/samples/*.yaml "$work/chart/olm/samples"
cp manifests/olm/csv.yaml "$work/chart/templates/csv.yaml"
. manifests/image.sh
image_options "${2:-}"

# template NAME: what it gives, without what speaks of Helm, and no comment of the chart.
template() {
  helm template rankwright-operator "$work/chart" --namespace rankwright-system \
    --show-only "templates/$1" "${image[@]}" | sed -E '/^ *helm.sh\/chart: /d; /^ *app.kubernetes.io\/managed-by: Helm$/d; /^#/d'
}

template csv.yaml | sed 1d >"$folder/manifests/rankwright-operator.clusterserviceversion.yaml"
sed '/^#/d' crds/rankingservices.yaml >"$folder/manifests/rankingservices.rankwright.dev.crd.yaml"
# OLM chooses the namespace
template service.yaml | sed '/^$/d; 1d; /^  namespace: /d' >"$folder/manifests/rankwright-operator-metrics.service.yaml"
for people in view edit; do
  template rbac.yaml | sed "/^$/d" | awk -v RS='---\n' -v name="-$people" '$0 ~ "\n  name: [^\n]*" name "\n" { printf "%s", $0 }' | sed "s/^  name: .*/  name: rankwright-operator-$people/" \
    >"$folder/manifests/rankwright-operator-$people.clusterrole.yaml"
done

labels='operators.operatorframework.io.bundle.mediatype.v1: registry+v1
operators.operatorframework.io.bundle.manifests.v1: manifests/
operators.operatorframework.io.bundle.metadata.v1: metadata/
operators.operatorframework.io.bundle.package.v1: rankwright-operator
operators.operatorframework.io.bundle.channels.v1: alpha
operators.operatorframework.io.bundle.channel.default.v1: alpha'
# shellcheck disable=SC2001 # lines, which a substitution of the shell does not know
{ echo annotations:; sed 's/^/  /' <<<"$labels"; } >"$folder/metadata/annotations.yaml"
# shellcheck disable=SC2001
{ echo 'FROM scratch'; sed 's/^\(.*\): \(.*\)$/LABEL \1=\2/' <<<"$labels"; echo 'COPY manifests /manifests/'; echo 'COPY metadata /metadata/'; } >"$folder/bundle.Dockerfile"

#!/usr/bin/env bash
# Prints operator.yaml, the operator without Helm: render.sh > operator.yaml. It is what the chart gives with its defaults,
# with the namespace and the definition of RankingService before it, and without what speaks of Helm. IMAGE=NAME:TAG, or
# NAME@sha256:…, takes another image.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/manifests/image.sh"
image_options "${IMAGE:-}"
cat <<'Y'
# Generated from charts/ by manifests/render.sh: change it there.
apiVersion: v1
kind: Namespace
metadata:
  name: rankwright-system
  labels:
    app.kubernetes.io/name: rankwright-operator
    pod-security.kubernetes.io/enforce: restricted
---
Y
sed 1d "$root/crds/rankingservices.yaml"
helm template rankwright-operator "$root/charts/rankwright-operator" --namespace rankwright-system --skip-tests "${image[@]}" |
  sed -E '/^ *helm.sh\/chart: /d; /^ *app.kubernetes.io\/managed-by: Helm$/d; /^# Source: /d'

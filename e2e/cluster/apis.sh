#!/usr/bin/env bash
# Gives a cluster for tests the APIs of apis/ that it lacks, and prints the names of the definitions that it makes: apis.sh
#
# They are those of KEDA, the Prometheus operator and Gateways that the operator and the charts make objects of: with the
# fields that are used, as the real ones have them, so that the API server refuses another one, or a value of another form.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/apis"
served() {
  local end=$((SECONDS + 30))
  until kubectl get "$1" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "$1 is not served" >&2; return 1; }
    sleep 0.2
  done
}
for file in *.yaml; do
  name=${file%.yaml}
  kubectl get crd "$name" >/dev/null 2>&1 && continue
  kubectl create --filename "$file" >/dev/null
  echo "$name"
  served "$name"
done

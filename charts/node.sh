#!/usr/bin/env bash
# Installs the operator on a cluster whose pods run, as docs/kubernetes-install.md tells it, and what tests of services need:
# node.sh IMAGE.tar…
#
# For the cluster of e2e/cluster/up.sh node. The archives hold the images of Rankwright (e2e/cluster/product.sh), Redis and the
# S3 server (e2e/cluster/stand-ins.sh); the operator is upgraded once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
in_cluster() { e2e/cluster/in.sh "$@"; }

# ok TEXT COMMAND…: one line that says how it went; the rest hangs on it, so the first failure is the last line.
ok() {
  if "${@:2}" >"$work/said" 2>&1; then
    passed=$((passed + 1))
    echo "ok: $1"
  else
    echo "FAILED: $1: $(grep -v '^ *$' "$work/said" | head -n 5 | tr '\n' ' ')"
    echo "$passed passed, 1 failed, 0 skipped"
    exit 1
  fi
}

namespace=rankwright-system
# Runs the commands of the page, from the one that begins so to the end of its block.
shown() {
  local commands
  commands=$(awk -v begin="$1" 'index($0, begin) == 1 { within = 1 } /^```/ { within = 0 } within' docs/kubernetes-install.md)
  [ -n "$commands" ] || { echo "docs/kubernetes-install.md has no: $1"; return 1; }
  in_cluster bash -euo pipefail -c "$commands"
}
restarts() {
  local counts
  counts=$(in_cluster kubectl -n $namespace get pods -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}') || return
  [ -n "$counts" ] && ! grep '[1-9]' <<<"$counts"
}
ok "the images are loaded" e2e/cluster/load.sh "$@"
ok "Helm installs the definition and the operator as the page shows it, and its test passes" shown "helm install rankwright-crds"
ok "it upgrades both as the page shows it" shown "helm upgrade rankwright-crds"
ok "it changes the operator" in_cluster helm upgrade rankwright-operator charts/rankwright-operator --namespace $namespace --wait --timeout 2m --set log.format=json
ok "no pod was restarted" restarts
ok "Redis and S3 for trying out are applied" in_cluster kubectl apply -f manifests/development/
ok "and become ready" in_cluster kubectl -n rankwright-development rollout status deployment/redis deployment/s3 --timeout=2m
echo "$passed passed, 0 failed, 0 skipped"

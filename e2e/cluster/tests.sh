#!/usr/bin/env bash
# Tests the operator, with what installs it: tests.sh [--build | --api | --pods]
#
#   1. its alerts
#   2. charts, manifests and the operator on an API server with its controllers: on the cluster that is configured, else on one
#      of our own
#   3. the operator and all programs as pods, of the image that is made of what was built, on one of our own
#
# A cluster is configured by RANKWRIGHT_TEST_KUBECONFIG, or by KUBECONFIG where that names one that this machine's loopback leads to,
# as those of kind, k3s and minikube. The tests make the definition of RankingServices, the charts' objects and namespaces of their own
# in it, and its nodes take no new pods meanwhile; charts/check.sh refuses one that has any of these already.
# Programs and tests are those of `./run test`, which calls this. Where there can be no cluster, a line says what is missing, of 2 and of 3;
# REQUIRE_CLUSTER=1 makes that a failure. --build builds Kubernetes, if it can be had here, and tests nothing; --api stops before 3,
# and --pods does that alone.
set -euo pipefail
# absolute: tests run in other folders; nothing below may take it from the environment by itself
given_kubeconfig=${KUBECONFIG:+$(realpath -m "$KUBECONFIG")}
[ -z "${RANKWRIGHT_TEST_KUBECONFIG:-}" ] || RANKWRIGHT_TEST_KUBECONFIG=$(realpath -m "$RANKWRIGHT_TEST_KUBECONFIG")
unset KUBECONFIG
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
RANKWRIGHT_CACHE=${RANKWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankwright}
programs=${CARGO_TARGET_DIR:-$RANKWRIGHT_CACHE/target}/release
PATH=$PATH:$RANKWRIGHT_CACHE/cluster/bin
work=$(mktemp -d "${SERVERS_RUN:-${TMPDIR:-/tmp}}/cluster-tests.XXXXXX")
export CLUSTER_STATE=${CLUSTER_STATE:-$work/cluster-${work##*.}}
status=0 cordoned=()
end() {
  open_nodes || true
  e2e/cluster/down.sh || true
  rm -rf "$work"
}
trap end EXIT

say() { printf '\n== %s %s\n' "$(date +%T)" "$*" >&2; }
required() { [ "${RANKWRIGHT_REQUIRE_ALL:-}" = 1 ] || [ "${REQUIRE_CLUSTER:-}" = 1 ]; }
# skipped WHAT WHY: a failure where none may be skipped.
skipped() {
  if required; then
    echo "FAILED: $1: $2"
    status=1
  else
    echo "SKIPPED: $1: $2"
  fi
}

# The kubeconfig of the cluster that is configured, if one is. Nobody's cluster is tested on by accident.
configured() {
  if [ -n "${RANKWRIGHT_TEST_KUBECONFIG:-}" ]; then
    printf '%s\n' "$RANKWRIGHT_TEST_KUBECONFIG"
  elif [ -n "$given_kubeconfig" ]; then
    local server
    server=$(kubectl --kubeconfig "$given_kubeconfig" config view --minify --output 'jsonpath={.clusters[0].cluster.server} {.clusters[0].cluster.proxy-url}') || server=
    if grep -Eq '^https?://(127\.[0-9.]+|localhost|0\.0\.0\.0|\[::1\])(:[0-9]+)?/? $' <<<"$server"; then
      printf '%s\n' "$given_kubeconfig"
    else
      echo "KUBECONFIG names no cluster of this machine (${server:-nothing that kubectl reads}), and is left alone: RANKWRIGHT_TEST_KUBECONFIG has the tests run there" >&2
    fi
  fi
}

# Why this machine can have no Kubernetes of our own; nothing where it can.
missing() {
  [ "$(id -u)" -eq 0 ] || { echo "a cluster of our own wants root"; return; }
  unshare --net --mount --pid --fork true 2>/dev/null || { echo "this machine grants no namespaces"; return; }
  local log=$RANKWRIGHT_CACHE/cluster.log
  [ -x "$RANKWRIGHT_CACHE/cluster/bin/kube" ] || say "building Kubernetes (once, about six minutes)"
  e2e/cluster/build.sh kube node helm >"$log" 2>&1 || echo "Kubernetes was not built ($(tail -n 1 "$log")), see $log"
}

# A cluster of our own of one kind, and how to run a command where it can be reached.
own_cluster() {
  local log=$RANKWRIGHT_CACHE/cluster-$1.log
  say "starting Kubernetes ($1)"
  e2e/cluster/up.sh "$1" >"$log" 2>&1 || { tail -n 30 "$log" >&2; echo "FAILED: Kubernetes did not start, see $log"; return 1; }
  in_cluster=(env "RANKWRIGHT_TEST_KUBECONFIG=$CLUSTER_STATE/admin.conf" "RANKWRIGHT_TEST_AUDIT_LOG=$CLUSTER_STATE/log/audit.log" e2e/cluster/in.sh)
}

# The tests tell what a node would: one that is there would contradict.
close_nodes() {
  local open
  open=$(kubectl get nodes --output go-template='{{range .items}}{{if not .spec.unschedulable}}{{.metadata.name}} {{end}}{{end}}')
  read -ra cordoned <<<"$open"
  [ ${#cordoned[@]} -eq 0 ] || kubectl cordon "${cordoned[@]}" >/dev/null
}
open_nodes() {
  [ ${#cordoned[@]} -eq 0 ] || kubectl uncordon "${cordoned[@]}" >/dev/null
  cordoned=()
}

# The test binary `cluster`, with arguments of its own, which have to name some test.
cluster_tests() {
  "${in_cluster[@]}" cargo test --release --locked --offline --workspace --test cluster -- --show-output "$@" | tee "$work/said" || status=$?
  ! grep -q '^test result: ok. 0 passed' "$work/said" || { echo "FAILED: there is no test for: $*"; status=1; }
}

# The charts come first: they want a cluster without the definition that the operator's tests leave in it.
on_an_api_server() {
  say "testing the charts and manifests on Kubernetes"
  KUBECONFIG=${configured:-$CLUSTER_STATE/admin.conf} RANKWRIGHT_OPERATOR_BIN=$programs/rankwright-operator "${in_cluster[@]}" charts/check.sh || status=$?
  say "testing the operator on Kubernetes"
  cluster_tests --test-threads 4 --skip node:: --skip many::
  # alone: it keeps the API server busy
  cluster_tests many::
}

# Services whose pods run.
on_a_node() {
  local images=$work/images
  mkdir -p "$images"
  e2e/cluster/product.sh "$images/rankwright.tar" "$programs" || return
  e2e/cluster/stand-ins.sh "$images" || return
  own_cluster node || return
  say "installing the operator on Kubernetes"
  charts/node.sh "$images"/*.tar || return
  RANKWRIGHT_TEST_NODE_KAFKA=$(e2e/cluster/kafka.sh 2>"$work/kafka.log") || { tail -n 30 "$work/kafka.log" >&2; return 1; }
  export RANKWRIGHT_TEST_NODE_KAFKA RANKWRIGHT_TEST_NODE=1
  say "testing services whose pods run"
  # a small machine has room for the pods of two tests, but of one with the samples, which ask for more
  local samples=(node::samples:: node::story:: node::stream::)
  cluster_tests --test-threads 2 node:: "${samples[@]/#/--skip=}"
  cluster_tests --test-threads 1 "${samples[@]}"
  [ "$status" -eq 0 ] || e2e/cluster/in.sh kubectl get pods,rankingservices --all-namespaces || true
}

# What wants no pods that run.
without_pods() {
  say "testing the alerts"
  REQUIRE_PROMTOOL=${RANKWRIGHT_REQUIRE_ALL:-} operator/monitoring/check.sh || status=$?
  local configured
  configured=$(configured)
  if [ -n "$configured" ]; then
    say "testing on the cluster of $configured"
    export KUBECONFIG=$configured
    in_cluster=(env "RANKWRIGHT_TEST_KUBECONFIG=$configured")
    close_nodes
    on_an_api_server
    open_nodes
    unset KUBECONFIG
  elif [ -n "$why" ]; then
    skipped "the operator's tests on a cluster" "$why"
    charts/check.sh || status=$?
  else
    if own_cluster control; then on_an_api_server; else status=1; fi
    e2e/cluster/down.sh || true
  fi
}

with_pods() {
  if [ -n "$why" ]; then
    skipped "the operator's tests with pods that run" "$why"
  else
    on_a_node || status=1
  fi
}

part=${1:-}
case $part in
  '' | --api | --pods) why=$(missing) ;;
  --build)
    missing
    exit
    ;;
  *) echo "usage: e2e/cluster/tests.sh [--build | --api | --pods]" >&2; exit 2 ;;
esac
[ "$part" = --pods ] || without_pods
[ "$part" = --api ] || with_pods
exit "$status"

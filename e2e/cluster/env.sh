# shellcheck shell=bash disable=SC2034
# Where everything lies. Sourced by the other scripts; every value can be set from outside. Programs and images are kept
# under the cache folder of ./run, outside the checkout.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

CACHE=${CLUSTER_CACHE:-${RANKWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankwright}/cluster} # built programs and images, kept between runs
STATE=${CLUSTER_STATE:-${TMPDIR:-/tmp}/rankwright-cluster} # one cluster: its data, certificates and logs

BIN=$CACHE/bin
PKI=$STATE/pki
CGROUP=$(basename "$STATE") # the parent of the pods' control groups
LOG=$STATE/log
BESIDE=$STATE/beside # servers that pods reach, and that do not run in pods
export KUBECONFIG=$STATE/admin.conf
export PATH=$BIN:$PATH

# The cluster's addresses exist only inside the network namespace that up.sh makes.
NODE_IP=10.200.0.1
POD_CIDR=10.244.0.0/24
SERVICE_CIDR=10.96.0.0/16
API_IP=10.96.0.1
DNS_IP=10.96.0.10

say() { printf '%s %s\n' "$(date +%T)" "$*"; }
die() { say "$*" >&2; exit 1; }

# running FILE: does the process whose id FILE holds still run? The start time kept beside the id tells it from a
# stranger that got the same id later.
running() {
  local pid born
  read -r pid born 2>/dev/null <"$1" || return 1
  [ "$(born "$pid")" = "$born" ]
}
born() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }

# until_true SECONDS COMMAND…: tries every tenth of a second.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}

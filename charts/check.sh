#!/usr/bin/env bash
# Checks the charts and manifests: check.sh [--update]
#
#   1. Helm's linter; values that the schema has to refuse
#   2. what the charts give for golden/*.values.yaml, against golden/*.yaml; manifests/operator.yaml, the OLM bundle and krew's manifest
#      against their scripts; the definition in the chart, and its reference in docs/, against crds/. --update rewrites them.
#   3. what Artifact Hub shows of the charts, the rules of OLM bundles, the files of a release, and the kubectl plugin
#   4. with KUBECONFIG: the charts are installed, upgraded and removed, every render and sample is put to the API server, which
#      applies schema, CEL rules and admission; APIs that it lacks are those of e2e/cluster/apis meanwhile
#   5. with RANKWRIGHT_OPERATOR_BIN and RANKWRIGHT_TEST_AUDIT_LOG too: rights.sh
#
# KUBECONFIG names a cluster for tests: operator, definition and samples are made in it, in namespaces that are removed; one that has
# any of them already is left alone. With the cluster of
# e2e/cluster: e2e/cluster/in.sh charts/check.sh. REQUIRE_CLUSTER=1 makes the lack of one a failure. Helm and kubectl are
# those in PATH, else those that `e2e/cluster/build.sh kube helm` has built.
# shellcheck disable=SC2329 # what ok is given is called by it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${CLUSTER_CACHE:-${RANKWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankwright}/cluster}
PATH=$PATH:$cache/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
update=
case ${1:-} in
  '') ;;
  --update) update=yes ;;
  *) echo "usage: charts/check.sh [--update]" >&2; exit 2 ;;
esac

# ok TEXT COMMAND…: one line that says how it went; what the command has said, where it failed.
ok() {
  if "${@:2}" >"$work/said" 2>&1; then
    passed=$((passed + 1))
    echo "ok: $1"
  else
    failed=$((failed + 1))
    echo "FAILED: $1: $(grep -v '^ *$' "$work/said" | head -n 3 | tr '\n' ' ')"
  fi
}
skip() {
  skipped=$((skipped + 1))
  echo "SKIPPED: $1"
}
end() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit
}

if ! command -v helm >/dev/null; then
  [ "${REQUIRE_CLUSTER:-}" != 1 ] || { echo "FAILED: helm is missing: e2e/cluster/build.sh helm builds it"; exit 1; }
  skip "the charts: helm is missing (e2e/cluster/build.sh helm builds it)"
  end
fi

operator() { helm template rankwright-operator charts/rankwright-operator --namespace rankwright-system "$@"; }

# same MADE KEPT HOW: both files are equal; --update makes them so.
same() {
  [ -z "$update" ] || cp "$1" "$2"
  diff -u "$2" "$1" >"$work/diff" || { echo "$2 differs from what is made now, $3: $(sed -n '4,200{/^[-+]/p}' "$work/diff" | head -n 2 | tr '\n' ' ')"; return 1; }
}

# refuses PATTERN OPTION…: the schema refuses these values, and says why.
refuses() {
  if operator "${@:2}" >"$work/render" 2>"$work/why"; then echo "it was accepted"; return 1; fi
  grep -q "$1" "$work/why" || { cat "$work/why"; return 1; }
}

for chart in rankwright-crds rankwright-operator; do
  ok "$chart passes Helm's linter" helm lint --strict --quiet "charts/$chart"
done
ok "an unknown value is refused" refuses replicaCount --set replicaCount=2
ok "a number of replicas that is none is refused" refuses replicas --set replicas=two
ok "a namespace that cannot be one is refused" refuses watchNamespaces --set 'watchNamespaces={Shop}'
ok "a format of the log that is not known is refused" refuses format --set log.format=xml
ok "an account that is not made needs a name" refuses serviceAccount --set serviceAccount.create=false
ok "a digest that is none is refused" refuses digest --set image.digest=latest
monitored() { operator --set metrics.serviceMonitor.enabled=true --set "metrics.serviceMonitor.interval=$1" | grep "interval: $1}"; }
for interval in 500ms 30s 1m30s 1h 1d12h; do
  ok "an interval of $interval is taken" monitored "$interval"
done
for interval in soon 30 30s1m 1.5m ''; do
  ok "an interval that is none to Prometheus is refused: '$interval'" refuses interval --set-string "metrics.serviceMonitor.interval=$interval"
done
# what an umbrella chart's condition is about gets into the values of its part
ok "the operator's chart may be a part of another one" operator --set enabled=true
ok "and the chart of the definition" helm template crds charts/rankwright-crds --set enabled=true
ok "what switches them on is no text" refuses enabled --set-string enabled=true

[ -z "$update" ] || cp crds/rankingservices.yaml charts/rankwright-crds/files/rankingservices.yaml
again="run charts/check.sh --update"
ok "the chart's definition is that of crds/" same crds/rankingservices.yaml charts/rankwright-crds/files/rankingservices.yaml "$again"
crds/reference.sh >"$work/reference.md"
ok "docs/kubernetes-reference.md is what its script gives" same "$work/reference.md" docs/kubernetes-reference.md "$again"
whole() {
  helm template crds charts/rankwright-crds --set "keep=$1" | grep -v '^---$\|^# Source: ' >"$work/crds.yaml"
  [ "$1" = false ] || { grep -c 'helm.sh/resource-policy: keep' "$work/crds.yaml" | grep -qx 1 && sed -i '/^  annotations:$/{N;/resource-policy/d}' "$work/crds.yaml"; }
  diff crds/rankingservices.yaml "$work/crds.yaml"
}
ok "the chart gives it unchanged" whole false
ok "and with nothing but the annotation that keeps it" whole true
for values in charts/golden/*.values.yaml; do
  name=$(basename "$values" .values.yaml)
  operator --values "$values" >"$work/$name.yaml" || true
  ok "the chart gives golden/$name.yaml" same "$work/$name.yaml" "charts/golden/$name.yaml" "$again if it should"
done
manifests/render.sh >"$work/operator.yaml"
ok "manifests/operator.yaml is what its script gives" same "$work/operator.yaml" manifests/operator.yaml "$again"
whole_bundle() {
  manifests/olm/render.sh "$work/bundle" || return
  [ -z "$update" ] || { rm -rf manifests/olm/bundle && cp -r "$work/bundle" manifests/olm/bundle; }
  diff -ru manifests/olm/bundle "$work/bundle"
}
ok "manifests/olm/bundle is what its script gives" whole_bundle
mkdir "$work/krew"
manifests/krew/pack.py "$work/krew"
ok "manifests/krew/rankwright.yaml is what its script gives" same "$work/krew/rankwright.yaml" manifests/krew/rankwright.yaml "$again"

for chart in rankwright-crds rankwright-operator; do
  ok "Artifact Hub can show $chart" charts/annotations.py "charts/$chart"
done
# finds PATTERN COMMAND…: the check fails, and says what is wrong.
finds() {
  if "${@:2}" >"$work/why"; then echo "nothing was found"; return 1; fi
  grep -q "$1" "$work/why" || { cat "$work/why"; return 1; }
}
unfit_chart() { # SED PATTERN
  rm -rf "$work/chart" && cp -r charts/rankwright-operator "$work/chart" && sed -i "$1" "$work/chart/Chart.yaml" && finds "$2" charts/annotations.py "$work/chart"
}
ok "but not another image" unfit_chart 's/image: rankwright:.*/image: rankwright:0/' '^images: '
ok "nor an icon that is not there" unfit_chart 's/icon.svg/logo.svg/' '^icon: '
ok "nor another version of the resource" unfit_chart 's/version: v1alpha1/version: v1/' '^crds: '
ok "nor another example" unfit_chart 's/schedule: .*/schedule: ""/' '^crdsExamples: '
ok "the OLM bundle keeps the rules of bundles" manifests/olm/check.py manifests/olm/bundle
unfit_bundle() { # FILE SED PATTERN
  rm -rf "$work/unfit" && cp -r manifests/olm/bundle "$work/unfit" && sed -i "$2" "$work/unfit/$1" && finds "$3" manifests/olm/check.py "$work/unfit"
}
csv=manifests/rankwright-operator.clusterserviceversion.yaml
ok "another version than its name has breaks them" unfit_bundle $csv 's/^  version: .*/  version: 9.9.9/' 'does not end with the version, 9.9.9'
ok "and a descriptor of a field that is not there" unfit_bundle $csv 's/path: rank.replicas/path: rank.servers/' 'no spec.rank.servers'
ok "and a resource that is not defined" unfit_bundle $csv 's/^      version: v1alpha1/      version: v1/' 'has no definition'
ok "and no install mode" unfit_bundle $csv 's/{type: AllNamespaces, supported: true}/{type: AllNamespaces, supported: false}/' '^spec.installModes'
ok "and an image that is not listed" unfit_bundle $csv 's/^    image: .*/    image: another/' 'relatedImages lacks rankwright:'
ok "and an account without rights" unfit_bundle $csv 's/^\( *\)- serviceAccountName: .*/\1- serviceAccountName: another/' 'is granted nothing'
ok "and labels that differ from the annotations" unfit_bundle bundle.Dockerfile 's/=alpha/=beta/' '^bundle.Dockerfile'
ok "and an object that OLM does not take" unfit_bundle manifests/rankwright-operator-metrics.service.yaml 's/^kind: .*/kind: Deployment/' 'takes no Deployment'

published=registry.example.com/rankwright@sha256:$(printf %064d 7)
released() {
  manifests/release.sh "$work/release" "$published" && manifests/olm/check.py "$work/release/bundle" &&
    helm lint --strict --quiet "$work"/release/*.tgz &&
    helm template rankwright-operator "$work"/release/rankwright-operator-*.tgz >"$work/published.yaml" &&
    helm show chart "$work"/release/rankwright-operator-*.tgz >>"$work/published.yaml"
}
ok "the files of a release are made" released
ours_alone() {
  local file
  for file in "$work/published.yaml" "$work/release/operator.yaml" "$work/release/bundle/$csv"; do
    grep -q "image: $published$" "$file" || { echo "$file does not name it"; return 1; }
    if grep '[ "]rankwright:' "$file"; then echo "$file names another image"; return 1; fi
  done
}
ok "and name its image alone" ours_alone
not() { ! "$@"; }
ok "a release needs a digest" not manifests/release.sh "$work/release" rankwright:latest
packed() { python3 -m zipfile -e "$work"/release/kubectl-rankwright-*.zip "$work/plugin" && cmp "$work/plugin/kubectl-rankwright" manifests/krew/kubectl-rankwright; }
ok "the archive has the plugin" packed
# what cargo-cyclonedx says of two programs that share a crate
bom() { printf '{"metadata": {"component": {"bom-ref": "%s", "name": "%s"}}, "components": [{"bom-ref": "serde"}, {"bom-ref": "of-%s"}], "dependencies": [{"ref": "%s", "dependsOn": ["serde", "of-%s"]}]}' "$1" "$1" "$1" "$1" "$1" >"$work/$1.json"; }
sbom() {
  bom server && bom worker && manifests/sbom.py "$published" 0.1.0 "$work/server.json" "$work/worker.json" >"$work/sbom.json" &&
    python3 - "$work/sbom.json" "$published" <<'PYTHON'
import json, sys
found, image = json.load(open(sys.argv[1])), sys.argv[2]
refs = [entry["bom-ref"].split("@")[0] for entry in found["components"]]
assert refs == ["of-server", "of-worker", "pkg:pypi/lightgbm", "pkg:pypi/onnxruntime", "pkg:pypi/xgboost-cpu", "serde", "server", "worker"], refs
[whole] = [entry["dependsOn"] for entry in found["dependencies"] if entry["ref"] == image]
assert [ref.split("@")[0] for ref in whole] == ["pkg:pypi/lightgbm", "pkg:pypi/onnxruntime", "pkg:pypi/xgboost-cpu", "server", "worker"], whole
PYTHON
}
ok "the SBOM has what the programs are made of, and the libraries beside them" sbom
ok "a file that is no BOM is refused" not manifests/sbom.py "$published" 0.1.0 "$work/release/operator.yaml"
if command -v kubectl >/dev/null; then
  ok "the kubectl plugin does what it says, with an API server of the test's own" manifests/krew/test.py
else
  skip "the kubectl plugin: kubectl is missing (e2e/cluster/build.sh kube builds it)"
fi

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
versions() {
  local chart
  for chart in charts/*/Chart.yaml; do
    [ "$(grep -cx "version: $version\|appVersion: $version" "$chart")" = 2 ] || { echo "$chart has another"; return 1; }
  done
  grep -qx "ARG VERSION=$version" Dockerfile || { echo "Dockerfile has another"; return 1; }
  grep -qx "ARG RUST_IMAGE=.*:$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)-.*" Dockerfile || { echo "Dockerfile has another toolchain"; return 1; }
  grep -qx "version=$version" manifests/krew/kubectl-rankwright || { echo "manifests/krew/kubectl-rankwright has another"; return 1; }
  grep -q "image: rankwright:$version$" manifests/development/s3.yaml || { echo "manifests/development/s3.yaml has another"; return 1; }
}
ok "charts, image, plugin and manifests have the version of Cargo.toml, $version" versions
# the API server keeps no empty list, so kubectl would find it missing each time
emptied() { ! grep -n ': \[\]$' charts/golden/*.yaml manifests/operator.yaml; }
ok "no list is empty" emptied
wildcards() { ! grep -n '"\*"\|'"'\*'"'\|\[\*\]' charts/golden/*.yaml manifests/operator.yaml; }
ok "no rule has a wildcard" wildcards

if [ -z "${KUBECONFIG:-}" ] || ! kubectl get --raw /readyz >/dev/null 2>&1; then
  [ "${REQUIRE_CLUSTER:-}" != 1 ] || { echo "FAILED: KUBECONFIG names no cluster that answers"; failed=$((failed + 1)); }
  skip "what the API server says of charts and manifests: KUBECONFIG names no cluster that answers"
  end
fi

# This script makes these namespaces and removes them at the end. One that exists already belongs to another user, unless an
# earlier run has left it and it is being deleted.
namespaces=$(sed -n '/^kind: Namespace$/,/^---$/s/^  name: //p' manifests/samples/*.yaml manifests/development/*.yaml | sort -u)
namespaces="rankwright-system rights search shop $namespaces"
for namespace in $namespaces; do
  [ -z "$(kubectl get namespace "$namespace" --ignore-not-found --output 'jsonpath={.metadata.deletionTimestamp}')" ] ||
    kubectl wait --for=delete --timeout=90s "namespace/$namespace" >/dev/null 2>&1 || true
done
# shellcheck disable=SC2086
there=$(kubectl get namespace $namespaces --ignore-not-found --output name
  kubectl get deployment --all-namespaces --selector app.kubernetes.io/name=rankwright-operator --output name)
if [ -n "$there" ]; then
  failed=$((failed + 1))
  echo "FAILED: the cluster is used already, and left alone: $(tr '\n' ' ' <<<"$there")"
  end
fi

# put FILE: the API server would take all of it.
put() { kubectl apply --dry-run=server --validate=strict --filename "$1"; }
put_in() { kubectl apply --namespace "$1" --dry-run=server --validate=strict --filename "$2"; }
namespace() { kubectl create namespace "$1" --dry-run=client --output yaml | kubectl apply --filename - >/dev/null; }

existed=$(kubectl get crd rankingservices.rankwright.dev --ignore-not-found --output name)
namespace rankwright-system
for name in shop blog; do namespace "$name"; done
kubectl label namespace rankwright-system --overwrite pod-security.kubernetes.io/enforce=restricted >/dev/null
apis() { e2e/cluster/apis.sh >"$work/apis"; }
ok "the cluster has the APIs of objects that some clusters take" apis
for values in charts/golden/*.values.yaml; do
  name=$(basename "$values" .values.yaml)
  ok "the API server takes golden/$name.yaml" put "$work/$name.yaml"
done
objects=operator/src/build/tests/whole.yaml
namespace search
ok "it takes $objects, all that the operator makes" put "$objects"
# unfit SED PATTERN: it does not take the same with a change, and says why.
unfit() {
  sed "$1" "$objects" >"$work/unfit.yaml"
  put "$work/unfit.yaml" 2>"$work/why" && return 1
  grep -q "$2" "$work/why" || { cat "$work/why"; return 1; }
}
ok "a field that a PodMonitor has not is refused" unfit 's/sourceLabels:/labels:/' 'unknown field "spec.podMetricsEndpoints'
ok "a duration that is none to a PrometheusRule is refused" unfit 's/for: 2m/for: two minutes/' 'should match'
ok "a number where a ScaledObject has text is refused" unfit 's/lagThreshold: .*/lagThreshold: 1000/' 'must be of type string'
for part in metrics.service view.clusterrole edit.clusterrole; do
  ok "it takes $part of the OLM bundle" put_in rankwright-system "manifests/olm/bundle/manifests/rankwright-operator-$part.yaml"
done
operator --show-only templates/tests/image.yaml >"$work/test.yaml"
ok "it takes the pod of helm test where the restricted standard is enforced" put "$work/test.yaml"

# The chart of the definition is installed in an older form, and upgraded.
mkdir "$work/older"
cp -r charts/rankwright-crds "$work/older"
sed -i '/^    shortNames:$/,+1d' "$work/older/rankwright-crds/files/rankingservices.yaml"
short() { [[ $(kubectl get crd rankingservices.rankwright.dev --output jsonpath='{.spec.names.shortNames}') == *rksvc* ]]; }
crds() { helm upgrade --install rankwright-crds "$1" --namespace rankwright-system --take-ownership "${@:2}"; }
ok "the chart of the definition is installed" crds "$work/older/rankwright-crds"
ok "in its older form" not short
ok "an upgrade of the chart" crds charts/rankwright-crds
ok "upgrades the definition" short
established() { kubectl wait --for=condition=Established crd/rankingservices.rankwright.dev --timeout=30s; }
ok "the definition is established" established
ok "manifests/operator.yaml applies beside it" kubectl apply --filename manifests/operator.yaml
again() { kubectl apply --filename manifests/operator.yaml >"$work/again" && not grep -v ' unchanged$' "$work/again"; }
ok "and changes nothing a second time" again

# A sample applies twice, whole, and without a warning.
twice() {
  kubectl apply --warnings-as-errors --filename "$1" && kubectl apply --warnings-as-errors --filename "$1" >"$work/again"
  not grep -v ' unchanged$\|^secret/' "$work/again" # what a Secret was given as text is always written
}
for sample in manifests/development/*.yaml manifests/samples/*.yaml; do
  ok "$sample applies as it stands" twice "$sample"
done
ok "manifests/development/redis-tls.sh makes what sample 05 names" manifests/development/redis-tls.sh
examples() { # of the OLM bundle, as JSON
  sed -n '/^    alm-examples: /,/^      \]$/{/alm-examples/d;p}' "manifests/olm/bundle/$csv" | python3 -c 'import json, sys; print(json.dumps({"apiVersion": "v1", "kind": "List", "items": json.load(sys.stdin)}))' >"$work/examples.json" &&
    put_in shop "$work/examples.json"
}
ok "the API server takes the examples of the OLM bundle" examples
plugin() { PATH=manifests/krew:$PATH kubectl rankwright "$@" --namespace sample-minimal; }
told() { ! plugin explain shop >"$work/explained" 2>&1 && grep -q 'no operator has looked at it' "$work/explained"; }
ok "kubectl rankwright explains what no operator has looked at" told
failing() {
  kubectl patch rankingservice shop --namespace sample-minimal --subresource=status --type=merge --patch '{"status": {"observedGeneration": 1,
    "models": [{"name": "default", "version": "v2"}], "conditions": [{"type": "Ready", "status": "False", "reason": "PodWithoutImage",
    "message": "no \"image\"", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}' &&
    not plugin explain shop >"$work/explained" && grep -q '^Ready is False: PodWithoutImage: no "image"$' "$work/explained" &&
    plugin status shop >"$work/status" && grep '^model default: v2$' "$work/status" && plugin status >"$work/status" && grep '^shop ' "$work/status"
}
ok "and why a service is not ready" failing
pinned() {
  not plugin pin shop default v1 2>"$work/why" && grep -q 'the operator has not looked at it' "$work/why" && [ "$(kubectl get rankingservice shop --namespace sample-minimal --output 'jsonpath={.spec.modelVersion.default}')" = v1 ] &&
    plugin rollback shop default 2>"$work/why" && return 1
  grep -q 'pinned to v1' "$work/why" && plugin pin shop default --remove &&
    [ -z "$(kubectl get rankingservice shop --namespace sample-minimal --output 'jsonpath={.spec.modelVersion.default}')" ]
}
ok "it pins a version, and takes the pin back" pinned
trained() {
  kubectl create cronjob shop-training --namespace sample-minimal --schedule '0 3 31 2 *' --image rankwright --dry-run=client --output json |
    kubectl label --local --filename - app.kubernetes.io/name=rankwright app.kubernetes.io/instance=shop app.kubernetes.io/component=training --output json |
    kubectl apply --filename - && plugin train shop && [[ $(kubectl get jobs --namespace sample-minimal --output name) == *job.batch/shop-now-* ]]
}
ok "it trains now" trained
refused() {
  sed 's/schedule: .*/schedule: whenever/' manifests/samples/01-minimal.yaml >"$work/wrong.yaml"
  put "$work/wrong.yaml" 2>"$work/why" && return 1
  grep -q 'schedule has five parts' "$work/why" || { cat "$work/why"; return 1; }
}
ok "a sample with a wrong schedule is refused with what to write" refused

# The operator's chart: in, changed, out.
chart() { helm upgrade --install rankwright-operator charts/rankwright-operator --namespace rankwright-system "$@"; }
uninstalled() { helm uninstall rankwright-operator --namespace rankwright-system --wait; }
left() { kubectl get deployments,services,roles,rolebindings,clusterroles,clusterrolebindings,networkpolicies,serviceaccounts,poddisruptionbudgets --all-namespaces --selector app.kubernetes.io/instance=rankwright-operator --output name; }
claims() { kubectl get leases --all-namespaces --field-selector metadata.name=rankwright-operator-looks-here --output name; }
nothing() { [ -z "$({ left; claims; } | tee "$work/left")" ] || { cat "$work/left"; return 1; }; }
ok "the operator's chart takes over what was installed without Helm" chart --take-ownership --force-conflicts
ok "and changes it" chart --force-conflicts --set replicas=3
ok "it is uninstalled" uninstalled
ok "and leaves nothing behind" nothing
ok "the operator's chart is installed" chart
may() { # what the operator may do: VERB RESOURCE [OPTION…]
  kubectl auth can-i "$@" --as=system:serviceaccount:rankwright-system:rankwright-operator --quiet
}
ok "its account may apply Deployments anywhere" may patch deployments --namespace shop
ok "it may write the status of RankingServices" may patch rankingservices --subresource=status --namespace shop
ok "it may renew its Lease" may update leases/rankwright-operator --namespace rankwright-system
ok "it may not renew another" not may update leases/another --namespace rankwright-system
ok "it may not write Secrets" not may patch secrets --namespace shop
ok "it may not make roles" not may create roles --namespace shop
ok "it may not run commands in pods" not may create pods --subresource=exec --namespace shop
ok "the chart is upgraded to two replicas" chart --set replicas=2
two() { [ "$(kubectl get deployment,poddisruptionbudget --namespace rankwright-system --output jsonpath='{.items[*].spec.replicas} {.items[*].kind}' rankwright-operator)" = '2 Deployment PodDisruptionBudget' ]; }
ok "which there are, with a PodDisruptionBudget" two
ok "it is upgraded to one namespace" chart --set watchNamespace=shop
# the API server hears of new rights a little later
soon() { for _ in {1..50}; do "$@" && return; sleep 0.2; done; return 1; }
ok "where its account may work" soon may patch deployments --namespace shop
ok "and not in another" soon not may patch deployments --namespace search
ok "it is upgraded to two namespaces" chart --set 'watchNamespaces={shop,search}'
ok "where its account may work" soon may list secrets --namespace shop
ok "and in the second one" soon may list secrets --namespace search
ok "and nowhere else" soon not may list secrets --namespace default
ok "it may say in its Lease there that it looks here" soon may patch leases/rankwright-operator-looks-here --namespace search
claimed() { # as an operator does that has no rights any more when it ends
  printf 'apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: rankwright-operator-looks-here, labels: {rankwright.dev/operator: rankwright-system}}\n' |
    kubectl apply --server-side --field-manager rankwright-operator --namespace search --filename -
}
ok "an operator says so" claimed
ok "it is uninstalled" uninstalled
ok "and leaves nothing behind" nothing

ok "the chart of the definition is uninstalled" helm uninstall rankwright-crds --namespace rankwright-system
ok "and leaves the RankingServices alone" kubectl get rankingservice shop --namespace sample-minimal

for sample in manifests/samples/*.yaml manifests/development/*.yaml; do
  kubectl delete --filename "$sample" --ignore-not-found --wait=false >/dev/null 2>&1 || true
done
kubectl delete namespace search shop rankwright-system --wait=false >/dev/null
xargs --no-run-if-empty kubectl delete crd <"$work/apis" >/dev/null
[ -n "$existed" ] || kubectl delete crd rankingservices.rankwright.dev --wait=false >/dev/null

if [ -z "${RANKWRIGHT_OPERATOR_BIN:-}" ] || [ -z "${RANKWRIGHT_TEST_AUDIT_LOG:-}" ]; then
  [ "${REQUIRE_CLUSTER:-}" != 1 ] || { echo "FAILED: RANKWRIGHT_OPERATOR_BIN and RANKWRIGHT_TEST_AUDIT_LOG are not set"; failed=$((failed + 1)); }
  skip "whether the operator uses all its rights: RANKWRIGHT_OPERATOR_BIN and RANKWRIGHT_TEST_AUDIT_LOG name no program and log"
  end
fi
kubectl wait --for=delete namespace/rankwright-system namespace/shop --timeout=120s >/dev/null 2>&1 || true
[ -n "$existed" ] || kubectl wait --for=delete crd/rankingservices.rankwright.dev --timeout=120s >/dev/null 2>&1 || true
rights() { charts/rights.sh "$RANKWRIGHT_OPERATOR_BIN" "$RANKWRIGHT_TEST_AUDIT_LOG" "$@"; }
ok "the operator's account needs each of its rights, and no other" rights
ok "and so it does with two namespaces to look at" rights some-namespaces
end

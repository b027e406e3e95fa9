#!/usr/bin/env bash
# Shows that the operator's account may do what the operator does, and nothing more: rights.sh OPERATOR AUDIT-LOG [some-namespaces]
#
# OPERATOR is the program, AUDIT-LOG the log of an API server that writes one line of JSON for each request, as that of
# e2e/cluster does: e2e/cluster/in.sh charts/rights.sh target/release/rankwright-operator /tmp/rankwright-cluster/log/audit.log
# The program runs with the token of the account that manifests/operator.yaml makes, or with that of a chart whose operator
# looks at two namespaces alone, and takes a RankingService through all
# that there is: every part, changes that take each one away again, a Secret that goes and comes, deletion with its data. No
# request may be refused, and each verb of each rule has to be used. KUBECONFIG names a cluster for tests, without pods that run.
set -euo pipefail
program=$(realpath "$1") log=$(realpath "$2") some=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
operator=
clean() {
  [ -z "$operator" ] || kill "$operator" 2>/dev/null || true
  xargs --no-run-if-empty kubectl delete crd --wait=false <"$work/made" >/dev/null 2>&1 || true
  kubectl delete namespace rights rights-too --ignore-not-found --wait=false >/dev/null 2>&1 || true
  kubectl delete --filename "$work/operator.yaml" --wait=false >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
die() { echo "FAILED: $*"; tail -n 5 "$work/operator.log" 2>/dev/null || true; exit 1; }
k() { kubectl --namespace rights "$@"; }

# until_true WHAT COMMAND…
until_true() {
  local end=$((SECONDS + 60))
  until "${@:2}" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || die "the operator never $1"
    sleep 0.2
  done
}
there() { for object in "$@"; do k get "$object" || return 1; done; }
gone() { for object in "$@"; do [ -z "$(k get "$object" --ignore-not-found --output name)" ] || return 1; done; }
condition() { [ "$(k get rankingservice shop --output "jsonpath={.status.conditions[?(@.type==\"$1\")].reason}")" = "$2" ]; }

# what a pass before this one has left is going
kubectl wait --for=delete --timeout=120s namespace/rights namespace/rights-too namespace/rankwright-system crd/rankingservices.rankwright.dev >/dev/null 2>&1 || true
e2e/cluster/apis.sh >"$work/made"
kubectl create namespace rights >/dev/null
cp manifests/operator.yaml "$work/operator.yaml"
place=()
if [ -n "$some" ]; then
  kubectl create namespace rights-too >/dev/null
  place=(--namespace rights,rights-too)
  {
    printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: rankwright-system}\n---\n'
    cat crds/rankingservices.yaml
    helm template rankwright-operator charts/rankwright-operator --namespace rankwright-system --skip-tests --set 'watchNamespaces={rights,rights-too}'
  } >"$work/operator.yaml"
fi
kubectl apply --filename "$work/operator.yaml" >/dev/null
kubectl wait --for=condition=Established --timeout=30s crd/rankingservices.rankwright.dev >/dev/null
kubectl config view --raw --flatten --minify >"$work/kubeconfig"
everywhere=$(kubectl get clusterrolebindings --selector app.kubernetes.io/name=rankwright-operator --output name)
[ -z "$some" ] || [ -z "$everywhere" ] || die "its account has rights in all namespaces: $everywhere"
token=$(kubectl --namespace rankwright-system create token rankwright-operator)
kubectl --kubeconfig "$work/kubeconfig" config set-credentials operator --token "$token" >/dev/null
kubectl --kubeconfig "$work/kubeconfig" config set-context --current --user operator >/dev/null
before=$(wc -l <"$log")
KUBECONFIG=$work/kubeconfig "$program" run "${place[@]}" --image rankwright:0.1.0 --own-namespace rankwright-system --identity rights \
  --port 18080 --level-port 18081 >"$work/operator.log" 2>&1 &
operator=$!

secret() { k create secret generic redis --from-literal=password=development >/dev/null; }
secret
k apply --filename - >/dev/null <<'Y'
apiVersion: rankwright.dev/v1alpha1
kind: RankingService
metadata: {name: shop}
spec:
  deletionPolicy: Delete
  configuration:
    inline:
      models: {default: {type: lambdamart, weights: {click: 1}, features: [price]}}
      features: [{name: price, type: number, field: item.price}]
  stateStore: {redis: {host: redis, auth: {passwordSecretRef: {name: redis, key: password}}}}
  rank:
    autoscaling: {maxReplicas: 4, cpuUtilization: 70}
    ingress: {host: rank.example.com}
  ingest:
    source: {kafka: {brokers: ["kafka:9092"], topic: events, groupId: shop}}
    autoscaling: {maxReplicas: 3}
  training: {schedule: "@daily"}
  import: {from: {stream: {}}}
  monitoring: {podMonitor: {}, alertRules: {}, dashboard: {}}
  networkPolicy: {}
Y
until_true "makes every part" there deployment/shop-rank deployment/shop-ingest cronjob/shop-training hpa/shop-rank pdb/shop-rank \
  service/shop-rank ingress/shop-rank networkpolicy/shop-rank configmap/shop-dashboard serviceaccount/shop scaledobject/shop-ingest
configures() { [[ $(k get configmap --output name) == *shop-config-* ]]; }
until_true "configures" configures
imports() { [ -n "$(k get job --selector app.kubernetes.io/component=import --output name)" ]; }
until_true "imports" imports
monitors() { [ -n "$(k get podmonitor --output name)" ]; }
until_true "monitors" monitors
until_true "alerts" there prometheusrule/shop

# watches show objects, so the operator does not get them; it gets one that another client has changed, before it restores it
change() { k label --overwrite "$1" --selector app.kubernetes.io/instance=shop app.kubernetes.io/name=other >/dev/null; }
unchanged() {
  local left
  left=$(k get "$1" --selector app.kubernetes.io/name=other --output name) && [ -z "$left" ]
}
made_kinds=deployments,cronjobs,hpa,pdb,services,ingresses,networkpolicies,configmaps,serviceaccounts,scaledobjects,podmonitors,prometheusrules
change "$made_kinds"
none() { ! "$@"; }
until_true "puts back what was changed" unchanged "$made_kinds"

k patch rankingservice shop --type merge --patch '{"spec": {"serviceAccount": {"name": "default"}, "training": null, "import": null,
  "monitoring": null, "networkPolicy": null, "ingest": {"autoscaling": null},
  "rank": {"autoscaling": null, "ingress": null, "gatewayRoute": {"parentRefs": [{"name": "gateway"}]}}}}' >/dev/null
until_true "takes away what is no longer wanted" gone cronjob/shop-training hpa/shop-rank ingress/shop-rank networkpolicy/shop-rank \
  serviceaccount/shop scaledobject/shop-ingest prometheusrule/shop configmap/shop-dashboard
routes() { [ -n "$(k get httproute --output name)" ]; }
until_true "makes a route" routes
change httproutes
until_true "puts the route back" unchanged httproutes
until_true "ends an import that is no longer wanted" none imports
until_true "stops monitoring" none monitors
k patch rankingservice shop --type merge --patch '{"spec": {"rank": {"gatewayRoute": null}}}' >/dev/null
until_true "takes the route away" none routes

# the same event twice
for _ in 1 2 3; do
  k delete secret redis >/dev/null
  until_true "misses the Secret" condition ConfigurationValid SecretMissing
  secret
  until_true "sees the Secret" condition ConfigurationValid Valid
done

k delete rankingservice shop --wait=false >/dev/null
until_true "removes the data" there job/shop-purge
k patch rankingservice shop --type merge --patch '{"spec": {"deletionPolicy": "Retain"}}' >/dev/null
until_true "lets the resource go" gone rankingservice/shop
kill "$operator"
wait "$operator" || die "the operator did not end well"
operator=

tail -n "+$((before + 1))" "$log" >"$work/audit"
kubectl get clusterroles,roles --all-namespaces --selector app.kubernetes.io/name=rankwright-operator --output json >"$work/roles"
python3 - "$work" <<'PYTHON'
import json, sys
work, account = sys.argv[1], "system:serviceaccount:rankwright-system:rankwright-operator"
used, refused = set(), set()
for line in open(f"{work}/audit"):
    event = json.loads(line)
    place = event.get("objectRef")
    if event["user"]["username"] != account or not place:
        continue
    resource = "/".join(filter(None, [place["resource"], place.get("subresource")]))
    code = event.get("responseStatus", {}).get("code")
    verbs = [event["verb"]] + ["create"] * (event["verb"] == "patch" and code == 201)  # an apply that made the object
    for verb in verbs:
        (refused if code == 403 else used).add((place.get("apiGroup", ""), resource, verb))
granted = set()
for role in json.load(open(f"{work}/roles"))["items"]:
    if role["metadata"]["name"].endswith(("-view", "-edit")):
        continue  # for people
    for rule in role["rules"]:
        granted |= {(group, resource, verb) for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}
def told(rights):
    return ", ".join(sorted(" ".join(filter(None, [verb, resource, group and f"of {group}"])) for group, resource, verb in rights))
if refused or not used:
    sys.exit(f"FAILED: the operator's account may not: {told(refused) or 'do anything'}")
if granted - used:
    sys.exit(f"FAILED: granted and never used: {told(granted - used)}")
print(f"the operator's account needs each of the {len(granted)} rights that it has, and no other")
PYTHON

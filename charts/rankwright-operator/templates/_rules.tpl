{{- /*
What the operator may do where it looks at RankingServices. "create" stands beside "patch" because the API server asks for
both when a server-side apply makes an object. Reading is "list" and "watch" for what there is and what becomes of it, and "get"
to read an object that another client has changed, before the operator restores it.
*/}}
{{- define "rankwright-operator.rules" -}}
# The resources to work on: each is seen with all its changes.
- apiGroups: [rankwright.dev]
  resources: [rankingservices]
  verbs: [list, watch]
# Puts the finalizer on resources whose deletionPolicy is Delete, and takes it off when their data are removed.
- apiGroups: [rankwright.dev]
  resources: [rankingservices]
  verbs: [patch]
# Tells in the status how they are.
- apiGroups: [rankwright.dev]
  resources: [rankingservices/status]
  verbs: [patch]
# Rank servers and ingest workers; deleted by the operator when deletionPolicy Delete stops them before the data go.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
# The operator lists revisions that have pods before it deletes a previous configuration.
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [list]
# Scheduled training (CronJob); imports, and the removal of data (Job). What a changed spec no longer asks for is deleted.
- apiGroups: [batch]
  resources: [cronjobs, jobs]
  verbs: [get, list, watch, create, patch, delete]
# The autoscaler of spec.rank.autoscaling.
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
# spec.rank.disruptionBudget.
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
# spec.rank.ingress and spec.networkPolicy.
- apiGroups: [networking.k8s.io]
  resources: [ingresses, networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
# The Service of the rank servers, and the pods' ServiceAccount, which is granted nothing.
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, list, watch, create, patch, delete]
# A ConfigMap for each configuration of the engine that pods may begin with, and that of spec.monitoring.dashboard. Those that
# are no longer needed are deleted. One that a resource names is read, and watched for changes that have to be rolled out.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch, delete]
# Secrets that a resource names: "get" sees that they are there with their keys, and computes the digest by which a change
# rolls the pods; "list" and "watch" ask for metadata alone, which a rule cannot say. None is ever written.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
# How pods are, what trainings report when they end, and the addresses of rank servers.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# Tells people of changes; the same event again is counted in the one that is there.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# Objects of APIs that not every cluster has; nothing is asked of them where they are missing. spec.monitoring:
- apiGroups: [monitoring.coreos.com]
  resources: [podmonitors, prometheusrules]
  verbs: [get, list, watch, create, patch, delete]
# spec.rank.gatewayRoute:
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, list, watch, create, patch, delete]
# spec.ingest.autoscaling, by KEDA:
- apiGroups: [keda.sh]
  resources: [scaledobjects]
  verbs: [get, list, watch, create, patch, delete]
{{- if include "rankwright-operator.namespaces" . }}
# The Lease of the chart that says that this operator looks here. A second operator that looks here as well warns because of it.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [rankwright-operator-looks-here]
  verbs: [get, patch]
{{- else }}
# Finds the Leases of other operators by their label, to warn of each.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list]
# Reads the uid of this one namespace, which tells the cluster from others: states in Redis carry it.
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]
  verbs: [get]
{{- end }}
{{- end }}

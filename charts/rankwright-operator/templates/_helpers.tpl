{{- define "rankwright-operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "rankwright-operator.fullname" -}}
{{- $name := include "rankwright-operator.name" . -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* By these the Deployment finds its pods: they never change. */}}
{{- define "rankwright-operator.selector" -}}
app.kubernetes.io/name: {{ include "rankwright-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Never managed-by rankwright-operator, by which the operator finds what is its own. */}}
{{- define "rankwright-operator.labels" -}}
{{ include "rankwright-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "rankwright-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "rankwright-operator.fullname" .) }}
{{- else }}{{ .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "rankwright-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* The namespaces that are looked at, separated by commas; nothing where all of them are. */}}
{{- define "rankwright-operator.namespaces" -}}
{{- concat .Values.watchNamespaces (list .Values.watchNamespace) | compact | uniq | sortAlpha | join "," }}
{{- end }}

{{- /* Roles and their bindings carry the namespace where they hold; those of the cluster also in their name, so that releases in two namespaces do not share one. */}}
{{- define "rankwright-operator.clusterName" -}}
{{- $name := include "rankwright-operator.fullname" . -}}
{{- if eq $name .Release.Namespace }}{{ $name }}{{ else }}{{ printf "%s-%s" .Release.Namespace $name }}{{ end }}
{{- end }}

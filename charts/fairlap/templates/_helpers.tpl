{{- define "fairlap.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fairlap.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* app.kubernetes.io/managed-by is Helm here; the operator marks its own children with "fairlap". */}}
{{- define "fairlap.labels" -}}
{{ include "fairlap.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Labels of the user's, none of which may take the place of one that is selected by: (list $ "podLabels" .Values.podLabels) */}}
{{- define "fairlap.moreLabels" -}}
{{- $own := include "fairlap.labels" (index . 0) | fromYaml -}}
{{- $path := index . 1 -}}
{{- range $label, $_ := index . 2 -}}
{{- if hasKey $own $label -}}{{- fail (printf "%s: %s is the chart's own label: leave it out" $path $label) -}}{{- end -}}
{{- if hasPrefix "fairlap.dev/" $label -}}{{- fail (printf "%s: %s is a label of the operator's: leave it out" $path $label) -}}{{- end -}}
{{- end -}}
{{- with index . 2 -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{- define "fairlap.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "fairlap.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* An image with the chart's appVersion as its tag: (list $ .Values.image) */}}
{{- define "fairlap.image" -}}
{{- $root := index . 0 -}}{{- $image := index . 1 -}}
{{- printf "%s:%s" $image.repository ($image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}

{{/* The watched namespaces as a JSON list in an object, for fromJson: {"names": [...]}; empty when cluster-wide. */}}
{{- define "fairlap.namespaces" -}}
{{- if .Values.scope.clusterWide -}}
{{- if .Values.scope.namespaces -}}
{{- fail "scope.clusterWide watches every namespace: leave scope.namespaces empty, or set scope.clusterWide to false" -}}
{{- end -}}
{"names": []}
{{- else -}}
{{- dict "names" (.Values.scope.namespaces | default (list .Release.Namespace)) | toJson -}}
{{- end -}}
{{- end -}}

{{/* What the operator may do where Benchmarks are. Each rule is there for the reason beside it; no rule reads secrets. */}}
{{- define "fairlap.rules" -}}
# Benchmarks are followed; a patch answers the annotation that asks for another run.
- apiGroups: [fairlap.dev]
  resources: [benchmarks]
  verbs: [get, list, watch, patch, create]
# Progress, verdict and numbers; a PUT with resourceVersion, so that a stale view is refused.
- apiGroups: [fairlap.dev]
  resources: [benchmarks/status, comparisons/status]
  verbs: [update]
# Comparisons are followed; their Benchmarks are created by the rule above.
- apiGroups: [fairlap.dev]
  resources: [comparisons]
  verbs: [get, list, watch]
# Children name what controls them as an owner that blocks deletion, which some clusters allow only with this.
- apiGroups: [fairlap.dev]
  resources: [benchmarks/finalizers, comparisons/finalizers]
  verbs: [update]
# One cluster under test a race, made and removed; never changed.
- apiGroups: [elasticsearch.k8s.elastic.co]
  resources: [elasticsearches]
  verbs: [get, list, watch, create, delete]
# One Job a race, created suspended and started by a patch once its uid is on record.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete, patch]
# The record of a race, and a track that a Benchmark names. `patch` is here because the race's Role grants it, and
# nobody may grant what he does not have.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch]
# Why a pod does not start, and whether it restarted during a race.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# The last lines of a container that failed, for the message in the status.
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# Which volume a node of Elasticsearch really got; and to remove a claim whose cluster went before ECK owned it.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, delete]
# Whether the cluster's http service has ready addresses: ECK's phase Ready does not wait for them.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
# The identity of a race, and the right to patch the one ConfigMap that takes its record. One that is there already is
# read, to see that it is the race's own.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, create]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [get, create]
# What happens to a Benchmark, for kubectl describe; and why a pod was evicted or never made: only events tell it.
- apiGroups: [""]
  resources: [events]
  verbs: [create, list]
{{- if .Values.rbac.deleteExpired }}
# Records, and Benchmarks that ask for it, go when their ttlAfterFinished is over; so do more runs than rerunHistoryLimit.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [delete]
- apiGroups: [fairlap.dev]
  resources: [benchmarks]
  verbs: [delete]
{{- end }}
{{- end -}}

{{/* What really held the data. Both kinds belong to the whole cluster; reading them shows no data. */}}
{{- define "fairlap.storageRules" -}}
- apiGroups: [""]
  resources: [persistentvolumes]
  verbs: [get]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [get]
{{- end -}}

{{/* How many processors and how much memory the machines have for pods. Nodes belong to the whole cluster. */}}
{{- define "fairlap.machineRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list]
{{- end -}}

{{/* What every pod of ours may ask: DNS, and the API server where the values say that it answers. */}}
{{- define "fairlap.knownEgress" -}}
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
{{- range .Values.networkPolicies.apiServer }}
- to: [{ipBlock: {cidr: {{ .cidr | quote }}}}]
  ports: [{port: {{ .port | default 443 }}}]
{{- end }}
{{- end -}}

{{/* Names and addresses of the chart's objects. */}}

{{/* The name of a component. Call with (list $ "hub"). */}}
{{- define "hai.name" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.fullnameOverride }}{{ . }}-{{ end }}{{ index . 1 -}}
{{- end }}

{{/* Prefix of objects that are not in a namespace. */}}
{{- define "hai.clusterName" -}}
{{- .Release.Namespace }}-{{ .Release.Name -}}
{{- end }}

{{/* The namespace of users' servers and training pods. */}}
{{- define "hai.workloads" -}}
{{- .Values.workloads.namespace | default (printf "%s-work" .Release.Namespace) -}}
{{- end }}

{{/* "true" if the workloads have a namespace of their own. */}}
{{- define "hai.apart" -}}
{{- if ne (include "hai.workloads" .) .Release.Namespace }}true{{ end -}}
{{- end }}

{{/* How pods of the platform reach a Service, for `env` and `args`. Call with (list $ "hub"). */}}
{{- define "hai.host" -}}
{{- $root := index . 0 -}}
{{- $name := include "hai.name" . -}}
{{- if eq $root.Values.serviceAddresses "environment" -}}
$({{ $name | upper | replace "-" "_" }}_SERVICE_HOST)
{{- else -}}
{{ $name }}.{{ $root.Release.Namespace }}.svc
{{- end -}}
{{- end }}

{{/* Labels of everything. Call with (list $ "hub"). */}}
{{- define "hai.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
{{ include "hai.selector" . }}
{{- end }}

{{/* Labels by which pods are found; they never change. */}}
{{- define "hai.selector" -}}
app.kubernetes.io/name: hai
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* The component whose pods answer for the scheduler. */}}
{{- define "hai.schedulerComponent" -}}
{{- if .Values.scheduler.separate }}api{{ else }}hub{{ end -}}
{{- end }}

{{/* An image with registry and tag, or its digest in place of the tag: `digest`, or a `tag` that is one. Call with (list $ image). */}}
{{- define "hai.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- if and $root.Values.imageRegistry (not (contains "/" $image.name)) }}{{ $root.Values.imageRegistry }}/{{ end -}}
{{- $tag := $image.digest | default $image.tag | default $root.Chart.AppVersion -}}
{{ $image.name }}{{ hasPrefix "sha256:" $tag | ternary "@" ":" }}{{ $tag -}}
{{- end }}

{{/* The number of the one account, at its former place or at its own. */}}
{{- define "hai.uid" -}}
{{- .Values.singleuser.uid | default .Values.identity.uid | int64 -}}
{{- end }}

{{/* The scheduler's image: its own or the Hub's. */}}
{{- define "hai.schedulerImage" -}}
{{- $image := .Values.hub.image -}}
{{- if .Values.scheduler.image.name -}}
{{- $image = .Values.scheduler.image -}}
{{- else if or .Values.scheduler.image.tag .Values.scheduler.image.digest -}}
{{- $image = dict "name" .Values.hub.image.name "tag" .Values.scheduler.image.tag "digest" .Values.scheduler.image.digest -}}
{{- end -}}
{{- include "hai.image" (list . $image) -}}
{{- end }}

{{/* The Secret with the platform's tokens. */}}
{{- define "hai.secret" -}}
{{- .Values.hub.existingSecret | default (include "hai.name" (list . "hub")) -}}
{{- end }}

{{/* The name of a component's ServiceAccount. Call with (list $ "hub" .Values.hub.serviceAccount). */}}
{{- define "hai.serviceAccount" -}}
{{- (index . 2).name | default (include "hai.name" .) -}}
{{- end }}

{{/* The account under which the scheduling loop runs. */}}
{{- define "hai.schedulerAccount" -}}
{{- if .Values.scheduler.separate -}}
{{- include "hai.serviceAccount" (list . "scheduler" .Values.scheduler.serviceAccount) -}}
{{- else -}}
{{- include "hai.serviceAccount" (list . "hub" .Values.hub.serviceAccount) -}}
{{- end -}}
{{- end }}

{{/* "true" if the chart's own PostgreSQL, or Redis, is needed. */}}
{{- define "hai.postgresql" -}}
{{- if or (eq .Values.hub.db.type "bundled") (eq .Values.scheduler.db.type "bundled") }}true{{ end -}}
{{- end }}
{{- define "hai.redis" -}}
{{- if and .Values.scheduler.separate (eq .Values.scheduler.redis.type "bundled") }}true{{ end -}}
{{- end }}

{{/* The scheduler's REST interface as every pod reaches it. */}}
{{- define "hai.apiUrl" -}}
http://{{ include "hai.host" (list . "scheduler") }}:8082{{ .Values.hub.baseUrl }}services/hai/api/v1
{{- end }}

{{/* Parts of whichever pod runs the scheduler service: its own, or the Hub's. */}}

{{/* Variables with addresses and secrets, which the configuration file must not hold. */}}
{{- define "hai.schedulerEnv" -}}
{{- $db := .Values.scheduler.db -}}
{{- $redis := .Values.scheduler.redis -}}
- name: HAI_SCHEDULER_CONFIG
  value: /etc/hai/scheduler/config.json
{{ include "hai.envFromSecret" (list "HAI_SERVICE_SECRET" (include "hai.secret" .) "service-secret") }}
{{- if eq $db.type "bundled" }}
{{- if or .Values.scheduler.separate (ne .Values.hub.db.type "bundled") }}
{{ include "hai.envFromSecret" (list "HAI_POSTGRESQL_PASSWORD" (include "hai.name" (list . "postgresql")) "password") }}
{{- end }}
- name: HAI_DB_URL
  value: postgresql://hai:$(HAI_POSTGRESQL_PASSWORD)@{{ include "hai.host" (list . "postgresql") }}:5432/hai?connect_timeout=5&tcp_user_timeout=10000
{{- else if eq $db.type "postgres" }}
{{ include "hai.envFromSecret" (list "HAI_DB_URL" (required "scheduler.db.type is postgres: name a Secret in scheduler.db.existingSecret.name" $db.existingSecret.name) $db.existingSecret.key) }}
{{- else if .Values.scheduler.separate }}
{{- fail "scheduler.db.type is sqlite, which replicas cannot share: write bundled or postgres, or scheduler.separate: false" }}
{{- end }}
{{- if include "hai.redis" . }}
{{ include "hai.envFromSecret" (list "HAI_REDIS_PASSWORD" (include "hai.name" (list . "redis")) "password") }}
- name: HAI_REDIS_URL
  value: redis://:$(HAI_REDIS_PASSWORD)@{{ include "hai.host" (list . "redis") }}:6379/0
{{- else if eq $redis.type "external" }}
{{ include "hai.envFromSecret" (list "HAI_REDIS_URL" (required "scheduler.redis.type is external: name a Secret in scheduler.redis.existingSecret.name" $redis.existingSecret.name) $redis.existingSecret.key) }}
{{- end }}
{{- end }}

{{/* What both Deployments of a separate scheduler have in common above their containers. Call with (list $ component annotations). */}}
{{- define "hai.schedulerPod" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $scheduler := $root.Values.scheduler -}}
automountServiceAccountToken: true
enableServiceLinks: {{ eq $root.Values.serviceAddresses "environment" }}
{{- include "hai.pullSecrets" (list $root $scheduler.image) }}
securityContext: {{- toYaml $scheduler.podSecurityContext | nindent 2 }}
{{- include "hai.placement" $scheduler }}
{{- if not $scheduler.affinity }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "hai.selector" (list $root $component) | nindent 14 }}
{{- end }}
{{- if eq $scheduler.db.type "bundled" }}
initContainers:
  {{- include "hai.waitForPostgresql" (list $root (include "hai.schedulerImage" $root) $scheduler) | nindent 2 }}
{{- end }}
volumes:
  {{- include "hai.schedulerVolumes" $root | nindent 2 }}
  {{- include "hai.tmpVolume" $root | nindent 2 }}
{{- end }}

{{/* The same of the pods themselves: labels and annotations. */}}
{{- define "hai.schedulerPodMetadata" -}}
{{- $root := index . 0 -}}
{{- $scheduler := $root.Values.scheduler -}}
labels:
  {{- include "hai.labels" . | nindent 2 }}
  {{- if eq (index . 1) "api" }}
  hub.jupyter.org/network-access-hub: "true"
  {{- end }}
  {{- with $scheduler.labels }}{{ toYaml . | nindent 2 }}{{ end }}
annotations:
  checksum/values: {{ list $scheduler $root.Values.hub.baseUrl $root.Values.hub.existingSecret $root.Values.postgresql.password $root.Values.redis.password | toJson | sha256sum }}
  checksum/config: {{ include (print $root.Template.BasePath "/scheduler/configmap.yaml") $root | sha256sum }}
  {{- with $scheduler.annotations }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}

{{/* And of their containers, below the name. Call with (list $ role). */}}
{{- define "hai.schedulerContainer" -}}
{{- $root := index . 0 -}}
{{- $scheduler := $root.Values.scheduler -}}
image: {{ include "hai.schedulerImage" $root }}
imagePullPolicy: {{ $scheduler.image.pullPolicy }}
command:
  - python
  - -P
  - -m
  - hai_scheduler
  - --role={{ index . 1 }}
  - --config=/etc/hai/scheduler/config.json
  - --KubernetesSettings.api_url=$(HAI_API_URL)
workingDir: /var/lib/hai
securityContext: {{- toYaml $scheduler.containerSecurityContext | nindent 2 }}
volumeMounts:
  {{- include "hai.schedulerMounts" $root | nindent 2 }}
  {{- include "hai.tmpMount" $root | nindent 2 }}
{{- end }}

{{- define "hai.schedulerMounts" -}}
- {name: scheduler-config, mountPath: /etc/hai/scheduler}
- {name: scheduler-state, mountPath: /var/lib/hai}
{{- if .Values.scheduler.logs.existingClaim }}
- {name: scheduler-logs, mountPath: /var/log/hai}
{{- end }}
{{- end }}

{{- define "hai.schedulerVolumes" -}}
- name: scheduler-config
  configMap: {name: {{ include "hai.name" (list . "scheduler") }}}
- name: scheduler-state
  emptyDir: {}
{{- with .Values.scheduler.logs.existingClaim }}
- name: scheduler-logs
  persistentVolumeClaim: {claimName: {{ . }}}
{{- end }}
{{- end }}

{{/* The configuration: the chart's own settings under those of the values, class by class. */}}
{{- define "hai.schedulerConfig" -}}
{{- $tasks := .Values.tasks -}}
{{- $service := dict "cluster" "kubernetes" "state_dir" "/var/lib/hai" "ip" "0.0.0.0" "port" 8082 -}}
{{- if .Values.scheduler.separate }}
{{- $_ := set $service "health_ip" "0.0.0.0" }}
{{- $_ := set $service "health_port" 8083 }}
{{- end -}}
{{- $cluster := dict
  "namespace" (include "hai.workloads" .)
  "image" (include "hai.image" (list . $tasks.image))
  "init_image" (include "hai.image" (list . $tasks.initImage))
  "image_pull_policy" $tasks.image.pullPolicy
  "image_pull_secrets" .Values.imagePullSecrets
  "gpu_resources" $tasks.gpuResources
  "service_account" $tasks.serviceAccount.name
  "tolerations" $tasks.tolerations -}}
{{- with .Values.scheduler.logs.existingClaim }}
{{- $_ := set $cluster "log_claim" . }}
{{- $_ := set $cluster "log_dir" "/var/log/hai" }}
{{- end -}}
{{- range $trait := list "db_url" "redis_url" -}}
{{- if hasKey (get $.Values.scheduler.config "HaiScheduler" | default dict) $trait -}}
{{- fail (printf "scheduler.config.HaiScheduler.%s: addresses with passwords belong into a Secret; name it in scheduler.%s.existingSecret" $trait (trimSuffix "_url" $trait)) -}}
{{- end -}}
{{- end -}}
{{- toPrettyJson (mergeOverwrite (dict "HaiScheduler" $service "KubernetesSettings" $cluster) (deepCopy .Values.scheduler.config)) -}}
{{- end }}

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

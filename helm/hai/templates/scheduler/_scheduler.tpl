{{/* The scheduler's REST interface as every pod reaches it. */}}
{{- define "hai.apiUrl" -}}
http://{{ include "hai.host" (list . "scheduler") }}:8082{{ .Values.hub.baseUrl }}services/hai/api/v1
{{- end }}

{{/* Parts of the pod that runs the scheduler service: its own pod, or the Hub's. */}}

{{/* Variables with addresses, which the configuration file must not hold, and names of files with secrets.
Call with (list $ component): only the API asks the Hub whose token a request has. */}}
{{- define "hai.schedulerEnv" -}}
{{- $component := index . 1 -}}
{{- with index . 0 -}}
{{- $db := .Values.scheduler.db -}}
{{- $redis := .Values.scheduler.redis -}}
- name: HAI_SCHEDULER_CONFIG
  value: /etc/hai/scheduler/config.json
{{- if ne $component "hub" }}
- name: HAI_CHART_VERSION
  value: {{ .Chart.AppVersion | quote }}
{{- end }}
{{ include "hai.secretFile" (list "HAI_SERVICE_SECRET" "/etc/hai/scheduler-secrets/service-secret") }}
{{ include "hai.secretFile" (list "HAI_SECRETS_KEYS" "/etc/hai/scheduler-secrets/secrets-key") }}
{{- if eq $component "api" }}
{{ include "hai.secretFile" (list "JUPYTERHUB_API_TOKEN" "/etc/hai/scheduler-secrets/service-token") }}
{{- end }}
{{- if eq $db.type "bundled" }}
- name: HAI_DB_URL
  value: postgresql://scheduler@{{ include "hai.host" (list . "postgresql") }}:5432/hai?connect_timeout=5&tcp_user_timeout=10000
{{ include "hai.secretFile" (list "HAI_DB_PASSWORD" "/etc/hai/scheduler-secrets/db-password") }}
{{- else if eq $db.type "postgres" }}
{{ include "hai.secretFile" (list "HAI_DB_URL" "/etc/hai/scheduler-secrets/db-url") }}
{{- else if .Values.scheduler.separate }}
{{- fail "scheduler.db.type is sqlite, which replicas cannot share: write bundled or postgres, or scheduler.separate: false" }}
{{- end }}
{{- if include "hai.redis" . }}
- name: HAI_REDIS_URL
  value: redis://{{ include "hai.host" (list . "redis") }}:6379/0
{{ include "hai.secretFile" (list "HAI_REDIS_PASSWORD" "/etc/hai/scheduler-secrets/redis-password") }}
{{- else if eq $redis.type "external" }}
{{ include "hai.secretFile" (list "HAI_REDIS_URL" "/etc/hai/scheduler-secrets/redis-url") }}
{{- end }}
{{- if .Values.scheduler.notifications.smtpSecret.name }}
{{ include "hai.secretFile" (list "HAI_SMTP_PASSWORD" "/etc/hai/scheduler-secrets/smtp-password") }}
{{- end }}
{{- end }}
{{- end }}

{{/* Files of the scheduler's secrets, in /etc/hai/scheduler-secrets. Call with (list $ component). */}}
{{- define "hai.schedulerSecrets" -}}
{{- $component := index . 1 -}}
{{- with index . 0 -}}
{{- $db := .Values.scheduler.db -}}
{{- $redis := .Values.scheduler.redis -}}
{{ include "hai.secretSource" (list (include "hai.secret" .) "service-secret" "service-secret") }}
{{ include "hai.secretSource" (list (include "hai.secret" .) "secrets-key" "secrets-key") }}
{{- if eq $component "api" }}
{{ include "hai.secretSource" (list (include "hai.secret" .) "service-token" "service-token") }}
{{- end }}
{{- if eq $db.type "bundled" }}
{{ include "hai.secretSource" (list (include "hai.name" (list . "postgresql")) "scheduler-password" "db-password") }}
{{- else if eq $db.type "postgres" }}
{{ include "hai.secretSource" (list (required "scheduler.db.type is postgres: name a Secret in scheduler.db.existingSecret.name" $db.existingSecret.name) $db.existingSecret.key "db-url") }}
{{- end }}
{{- with .Values.scheduler.registrySecret }}
{{ include "hai.secretSource" (list . ".dockerconfigjson" "registry.json") }}
{{- end }}
{{- with .Values.scheduler.notifications.smtpSecret }}
{{- if .name }}
{{ include "hai.secretSource" (list .name .key "smtp-password") }}
{{- end }}
{{- end }}
{{- if include "hai.redis" . }}
{{ include "hai.secretSource" (list (include "hai.name" (list . "redis")) "password" "redis-password") }}
{{- else if eq $redis.type "external" }}
{{ include "hai.secretSource" (list (required "scheduler.redis.type is external: name a Secret in scheduler.redis.existingSecret.name" $redis.existingSecret.name) $redis.existingSecret.key "redis-url") }}
{{- end }}
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
{{- if or (eq $scheduler.db.type "bundled") $root.Values.haienv.enabled }}
initContainers:
  {{- if eq $scheduler.db.type "bundled" }}
  {{- include "hai.waitForPostgresql" (list $root (include "hai.schedulerImage" $root) $scheduler) | nindent 2 }}
  {{- end }}
  {{- if $root.Values.haienv.enabled }}
  {{- include "hai.waitForHaienv" (list $root (include "hai.schedulerImage" $root) $scheduler) | nindent 2 }}
  {{- end }}
{{- end }}
volumes:
  {{- include "hai.schedulerVolumes" (list $root $component) | nindent 2 }}
  {{- include "hai.tmpVolume" $root | nindent 2 }}
{{- end }}

{{/* What their pods have in common: labels and annotations. */}}
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

{{/* What their containers have in common, below the name. Call with (list $ role). */}}
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
- {name: scheduler-secrets, mountPath: /etc/hai/scheduler-secrets, readOnly: true}
- {name: scheduler-state, mountPath: /var/lib/hai}
{{- if .Values.scheduler.notifications.sinksSecret }}
- {name: sinks, mountPath: /etc/hai/sinks, readOnly: true}
{{- end }}
{{- if eq .Values.identity.source "file" }}
- {name: accounts, mountPath: /etc/hai/accounts, readOnly: true}
{{- end }}
{{- if .Values.scheduler.logs.existingClaim }}
- {name: scheduler-logs, mountPath: /var/log/hai}
{{- end }}
{{- if .Values.snapshots.existingClaim }}
- {name: snapshots, mountPath: /var/lib/hai-snapshots}
{{- end }}
{{- if .Values.haienv.enabled }}
{{ include "hai.haienvMounts" . }}
{{- end }}
{{- if .Values.scheduler.separate }}
{{- with .Values.scheduler.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Call with (list $ component). */}}
{{- define "hai.schedulerVolumes" -}}
{{- $component := index . 1 -}}
{{- with index . 0 -}}
- name: scheduler-config
  configMap: {name: {{ include "hai.name" (list . "scheduler") }}}
- name: scheduler-secrets
  projected:
    # Readable only for the group of the pod.
    defaultMode: 0440
    sources: {{- include "hai.schedulerSecrets" (list . $component) | nindent 6 }}
- name: scheduler-state
  emptyDir: {sizeLimit: 2Gi}
{{- with .Values.scheduler.notifications.sinksSecret }}
- name: sinks
  # Readable only for the group of the pod.
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- if eq .Values.identity.source "file" }}
- name: accounts
  configMap: {name: {{ required "identity.source is file: name the ConfigMap with the keys passwd and group in identity.file.configMap" .Values.identity.file.configMap }}}
{{- end }}
{{- with .Values.scheduler.logs.existingClaim }}
- name: scheduler-logs
  persistentVolumeClaim: {claimName: {{ . }}}
{{- end }}
{{- with .Values.snapshots.existingClaim }}
- name: snapshots
  persistentVolumeClaim: {claimName: {{ . }}}
{{- end }}
{{- if .Values.haienv.enabled }}
{{ include "hai.haienvVolume" . }}
{{- end }}
{{- if .Values.scheduler.separate }}
{{- with .Values.scheduler.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The configuration: the chart's own settings under those of the values, class by class. */}}
{{- define "hai.schedulerConfig" -}}
{{- $tasks := .Values.tasks -}}
{{- $service := dict "cluster" "kubernetes" "state_dir" "/var/lib/hai" "ip" "0.0.0.0" "port" 8082 "default_quota" (toString .Values.scheduler.defaultQuota) -}}
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
  "tolerations" $tasks.tolerations
  "extra_labels" $tasks.extraLabels
  "extra_annotations" $tasks.extraAnnotations
  "run_as_user" (include "hai.uid" . | int64)
  "run_as_group" (int64 .Values.identity.gid)
  "account_files" .Values.identity.accountFiles -}}
{{- $identities := dict "source" .Values.identity.source "least_uid" (int64 .Values.identity.leastUid) -}}
{{- if eq .Values.identity.source "file" }}
{{- $_ := set $identities "passwd_file" "/etc/hai/accounts/passwd" }}
{{- $_ := set $identities "group_file" "/etc/hai/accounts/group" }}
{{- end -}}
{{- range $value := list "extraLabels" "extraAnnotations" -}}
{{- range $key, $_ := get $tasks $value -}}
{{- if or (hasPrefix "hai.jupyter.org/" $key) (eq $key "app.kubernetes.io/managed-by") -}}
{{- fail (printf "tasks.%s: %s is HAI's own: leave it out" $value $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.scheduler.logs.existingClaim }}
{{- $_ := set $cluster "log_claim" . }}
{{- $_ := set $cluster "log_dir" "/var/log/hai" }}
{{- end -}}
{{- with .Values.snapshots.existingClaim }}
{{- $_ := set $service "snapshots_root" "/var/lib/hai-snapshots" }}
{{- $_ := set $service "snapshots_claim" . }}
{{- end -}}
{{- with .Values.scheduler.foreignPods }}
{{- $_ := set $cluster "foreign_pods" . }}
{{- end -}}
{{- if .Values.scheduler.registrySecret }}
{{- $_ := set $cluster "registry_auth_file" "/etc/hai/scheduler-secrets/registry.json" }}
{{- end -}}
{{- if .Values.haienv.enabled }}
{{- $_ := set $service "haienv_root" .Values.haienv.root }}
{{- $image := include "hai.image" (list . .Values.singleuser.image) }}
{{- $_ := set $service "build_image" $image }}
{{- $_ := set $service "build_account" (include "hai.uid" .) }}
{{- $_ := set $cluster "haienv_claim" (include "hai.haienvClaim" .) }}
{{- $_ := set $cluster "haienv_image" $image }}
{{- $_ := set $cluster "haienv_readable" .Values.haienv.readable }}
{{- $_ := set $cluster "haienv_makers" .Values.haienv.makersGid }}
{{- $_ := set $cluster "haienv_build_variables" (dict "UV_PYTHON_PREFERENCE" .Values.haienv.pythons) }}
{{- $_ := set $cluster "image_pull_secrets" (concat .Values.imagePullSecrets .Values.singleuser.image.pullSecrets | uniq) }}
{{- if .Values.haienv.local.path }}
{{- $_ := set $cluster "haienv_local_claim" (include "hai.name" (list . "haienv-local")) }}
{{- $_ := set $cluster "haienv_local_days" .Values.haienv.local.days }}
{{- end }}
{{- end -}}
{{- range $trait := list "db_url" "redis_url" -}}
{{- if hasKey (get $.Values.scheduler.config "HaiScheduler" | default dict) $trait -}}
{{- fail (printf "scheduler.config.HaiScheduler.%s: addresses with passwords belong into a Secret; name it in scheduler.%s.existingSecret" $trait (trimSuffix "_url" $trait)) -}}
{{- end -}}
{{- end -}}
{{- $notifications := dict -}}
{{- if .Values.scheduler.notifications.sinksSecret }}
{{- $_ := set $notifications "sinks_dir" "/etc/hai/sinks" }}
{{- end -}}
{{- toPrettyJson (mergeOverwrite (dict "HaiScheduler" $service "KubernetesSettings" $cluster "IdentityConfig" $identities "NotificationSettings" $notifications) (deepCopy .Values.scheduler.config)) -}}
{{- end }}

{{/* The accounts of the loop and the API, as subjects of a binding. */}}
{{- define "hai.readers" -}}
- kind: ServiceAccount
  name: {{ include "hai.schedulerAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- if .Values.scheduler.separate }}
- kind: ServiceAccount
  name: {{ include "hai.serviceAccount" (list . "api" .Values.scheduler.api.serviceAccount) }}
  namespace: {{ .Release.Namespace }}
{{- end }}
{{- end }}

{{/* Parts of pods. */}}

{{/* Pull secrets. Call with (list $ image). */}}
{{- define "hai.pullSecrets" -}}
{{- with concat (index . 0).Values.imagePullSecrets ((index . 1).pullSecrets | default list) | uniq }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where a pod may run. Call with a component's values. */}}
{{- define "hai.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}

{{/* A probe. Call with (list probe path port scheme). */}}
{{- define "hai.probe" -}}
httpGet: {path: {{ index . 1 | quote }}, port: {{ index . 2 }}, scheme: {{ index . 3 }}}
{{ include "hai.probeTimes" (index . 0) }}
{{- end }}

{{/* The times of a probe. */}}
{{- define "hai.probeTimes" -}}
initialDelaySeconds: {{ .initialDelaySeconds }}
periodSeconds: {{ .periodSeconds }}
timeoutSeconds: {{ .timeoutSeconds }}
failureThreshold: {{ .failureThreshold }}
{{- end }}

{{/* Environment variables from a table of texts and `valueFrom`. */}}
{{- define "hai.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  {{- if kindIs "map" $value }}
  {{- toYaml $value | nindent 2 }}
  {{- else }}
  value: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A variable from a Secret. Call with (list "NAME" secret key). */}}
{{- define "hai.envFromSecret" -}}
- name: {{ index . 0 }}
  valueFrom: {secretKeyRef: {name: {{ index . 1 }}, key: {{ index . 2 }}}}
{{- end }}

{{/* A variable that names a file of a secret. Call with (list "NAME" file). */}}
{{- define "hai.secretFile" -}}
- {name: {{ index . 0 }}_FILE, value: {{ index . 1 }}}
{{- end }}

{{/* A source of a volume of secrets. Call with (list secret key file). */}}
{{- define "hai.secretSource" -}}
- secret:
    name: {{ index . 0 }}
    items: [{key: {{ index . 1 }}, path: {{ index . 2 }}}]
{{- end }}

{{/* A PodDisruptionBudget. Call with (list $ component pdb). */}}
{{- define "hai.pdb" -}}
{{- $pdb := index . 2 -}}
{{- $root := index . 0 -}}
{{- if $pdb.enabled }}
---
apiVersion: {{ $root.Capabilities.APIVersions.Has "policy/v1" | ternary "policy/v1" "policy/v1beta1" }}
kind: PodDisruptionBudget
metadata:
  name: {{ include "hai.name" . }}
  labels: {{- include "hai.labels" . | nindent 4 }}
spec:
  {{- if not (kindIs "invalid" $pdb.minAvailable) }}
  minAvailable: {{ $pdb.minAvailable }}
  {{- else }}
  maxUnavailable: {{ $pdb.maxUnavailable }}
  {{- end }}
  selector:
    matchLabels: {{- include "hai.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* A ServiceAccount. Call with (list $ component account). */}}
{{- define "hai.account" -}}
{{- $account := index . 2 -}}
{{- if $account.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "hai.serviceAccount" . }}
  labels: {{- include "hai.labels" . | nindent 4 }}
  {{- with $account.annotations }}
  annotations: {{ toJson . }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{/* Volumes and mounts that a read-only root file system asks for. */}}
{{- define "hai.tmpVolume" -}}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
{{- end }}
{{- define "hai.tmpMount" -}}
- name: tmp
  mountPath: /tmp
{{- end }}

{{/* Waits for the chart's own PostgreSQL, so that a pod that is up before it does not crash again and again.
     Call with (list $ image component). */}}
{{- define "hai.waitForPostgresql" -}}
{{- $component := index . 2 -}}
- name: wait-for-postgresql
  image: {{ index . 1 }}
  imagePullPolicy: {{ $component.image.pullPolicy }}
  command:
    - python
    - -c
    - |
      import socket, sys, time

      while True:
          try:
              socket.create_connection((sys.argv[1], 5432), 2).close()
              break
          except OSError as error:
              print(f"PostgreSQL does not answer at {sys.argv[1]}: {error}", flush=True)
              time.sleep(1)
    - {{ include "hai.host" (list (index . 0) "postgresql") }}
  resources: {requests: {cpu: 10m, memory: 32Mi, ephemeral-storage: 1Mi}, limits: {memory: 128Mi, ephemeral-storage: 64Mi}}
  securityContext: {{- toYaml $component.containerSecurityContext | nindent 4 }}
{{- end }}

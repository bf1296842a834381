{{/* The address of the platform as users' servers reach it. */}}
{{- define "hai.innerUrl" -}}
{{- $secure := and .Values.proxy.https.enabled (eq .Values.proxy.https.type "secret") -}}
{{- if $secure }}https{{ else }}http{{ end }}://{{ include "hai.host" (list . "proxy-public") -}}
{{- end }}

{{/* Variables with the address of the Hub's database. */}}
{{- define "hai.hubDatabase" -}}
{{- $db := .Values.hub.db -}}
{{- if eq $db.type "bundled" -}}
{{ include "hai.envFromSecret" (list "HAI_POSTGRESQL_PASSWORD" (include "hai.name" (list . "postgresql")) "password") }}
- name: HAI_HUB_DB_URL
  value: postgresql+psycopg://hai:$(HAI_POSTGRESQL_PASSWORD)@{{ include "hai.host" (list . "postgresql") }}:5432/jupyterhub
{{- else if eq $db.type "sqlite-pvc" -}}
- name: HAI_HUB_DB_URL
  value: sqlite:////srv/hai/jupyterhub.sqlite
{{- else if eq $db.type "sqlite-memory" -}}
- name: HAI_HUB_DB_URL
  value: "sqlite://"
{{- else if $db.existingSecret.name -}}
{{ include "hai.envFromSecret" (list "HAI_HUB_DB_URL" $db.existingSecret.name $db.existingSecret.key) }}
{{- else if $db.url -}}
{{ include "hai.envFromSecret" (list "HAI_HUB_DB_URL" (print (include "hai.name" (list . "hub")) "-config") "db-url") }}
{{- else -}}
{{- fail (printf "hub.db.type is %s: name a Secret in hub.db.existingSecret.name, or write hub.db.url" $db.type) -}}
{{- end -}}
{{- end }}

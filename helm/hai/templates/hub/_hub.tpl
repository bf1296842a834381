{{/* The address of the platform as users' servers reach it. */}}
{{- define "hai.innerUrl" -}}
{{- $secure := and .Values.proxy.https.enabled (eq .Values.proxy.https.type "secret") -}}
{{- if $secure }}https{{ else }}http{{ end }}://{{ include "hai.host" (list . "proxy-public") -}}
{{- end }}

{{/* Variables with the address of the Hub's database; passwords are in files. */}}
{{- define "hai.hubDatabase" -}}
{{- $db := .Values.hub.db -}}
{{- if eq $db.type "bundled" -}}
- name: HAI_HUB_DB_URL
  value: postgresql+psycopg://hub@{{ include "hai.host" (list . "postgresql") }}:5432/jupyterhub
{{ include "hai.secretFile" (list "HAI_HUB_DB_PASSWORD" "/etc/hai/secrets/db-password") }}
{{- else if eq $db.type "sqlite-pvc" -}}
- name: HAI_HUB_DB_URL
  value: sqlite:////srv/hai/jupyterhub.sqlite
{{- else if eq $db.type "sqlite-memory" -}}
- name: HAI_HUB_DB_URL
  value: "sqlite://"
{{- else if or $db.existingSecret.name $db.url -}}
{{ include "hai.secretFile" (list "HAI_HUB_DB_URL" "/etc/hai/secrets/db-url") }}
{{- else -}}
{{- fail (printf "hub.db.type is %s: name a Secret in hub.db.existingSecret.name, or write hub.db.url" $db.type) -}}
{{- end -}}
{{- end }}

{{/* Files of the Hub's secrets, in /etc/hai/secrets. */}}
{{- define "hai.hubSecrets" -}}
{{- $db := .Values.hub.db -}}
- secret:
    name: {{ include "hai.secret" . }}
    items:
      {{- range list "cookie-secret" "crypt-key" "metrics-token" "proxy-token" "service-token" "spawner-token" }}
      - {key: {{ . }}, path: {{ . }}}
      {{- end }}
{{- if eq $db.type "bundled" }}
{{ include "hai.secretSource" (list (include "hai.name" (list . "postgresql")) "hub-password" "db-password") }}
{{- else if $db.existingSecret.name }}
{{ include "hai.secretSource" (list $db.existingSecret.name $db.existingSecret.key "db-url") }}
{{- else if and $db.url (not (hasPrefix "sqlite" $db.type)) }}
{{ include "hai.secretSource" (list (print (include "hai.name" (list . "hub")) "-config") "db-url" "db-url") }}
{{- end }}
{{- with .Values.logins }}
{{- if and .existingSecret (ne .type "none") }}
- secret:
    name: {{ .existingSecret }}
    # The Hub says itself what is missing, and which key to add.
    optional: true
    items: [{key: {{ get (dict "oidc" "client-secret" "github" "client-secret" "ldap" "bind-password" "passwords" "admin-password") .type }}, path: login-secret}]
{{- end }}
{{- end }}
{{- end }}

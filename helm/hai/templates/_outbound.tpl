{{/* What pods reach outside of the cluster: a proxy, and the authorities that count. */}}

{{/* The proxy as {address, host, port}, as JSON; empty: there is none. An address that is refused is not shown: it may hold a password. */}}
{{- define "hai.outboundProxy" -}}
{{- $outbound := .Values.outbound -}}
{{- $address := $outbound.proxy.address -}}
{{- range $where, $env := dict "hub" .Values.hub.extraEnv "scheduler" .Values.scheduler.extraEnv "singleuser" .Values.singleuser.extraEnv -}}
{{- range $name, $_ := $env -}}
{{- if has (upper $name) (list "HTTP_PROXY" "HTTPS_PROXY" "ALL_PROXY" "NO_PROXY") -}}
{{- fail (printf "%s.extraEnv.%s: a proxy without the names of the platform's own Services would get requests to them: write outbound.internet: proxy, outbound.proxy.address and outbound.noProxy instead, which complete them in all pods" $where $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if ne $outbound.internet "proxy" -}}
{{- if or $address $outbound.proxy.to $outbound.noProxy -}}
{{- fail (printf "outbound.proxy and outbound.noProxy count only with outbound.internet: proxy, and it is %q: write that, or leave them out" $outbound.internet) -}}
{{- end -}}
{{- else if not $address -}}
{{- fail "outbound.internet is proxy: write the address of the proxy in outbound.proxy.address, for example http://proxy.example.org:3128" -}}
{{- else if contains "@" $address -}}
{{- fail "outbound.proxy.address has a user or a password, which every user would see in a pod: let the proxy know this cluster by its addresses, and write http://HOST:PORT" -}}
{{- else if not (regexMatch "^https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}/?$" $address) -}}
{{- fail "outbound.proxy.address is no address of a proxy: write http://HOST:PORT or https://HOST:PORT, without a path" -}}
{{- else -}}
{{- $place := $address | trimSuffix "/" | regexFind "[^/]+$" -}}
{{- $port := $place | regexFind "[0-9]+$" | int -}}
{{- if or (lt $port 1) (gt $port 65535) -}}
{{- fail (printf "outbound.proxy.address has the port %d: write one of 1 to 65535" $port) -}}
{{- end -}}
{{- dict "address" (trimSuffix "/" $address) "host" (regexReplaceAll ":[0-9]+$" $place "" | trimPrefix "[" | trimSuffix "]") "port" $port | toJson -}}
{{- end -}}
{{- end }}

{{/* The egress rule to the proxy; empty: there is no proxy. */}}
{{- define "hai.outboundEgress" -}}
{{- with include "hai.outboundProxy" . }}
{{- $proxy := fromJson . }}
{{- $to := $.Values.outbound.proxy.to }}
{{- if not $to }}
{{- if regexMatch "^[0-9]+(\\.[0-9]+){3}$" $proxy.host }}
{{- $to = list (dict "ipBlock" (dict "cidr" (print $proxy.host "/32"))) }}
{{- else if contains ":" $proxy.host }}
{{- $to = list (dict "ipBlock" (dict "cidr" (print $proxy.host "/128"))) }}
{{- else }}
{{- fail (printf "outbound.proxy.to is empty, and network policies know no names such as %s: write where the proxy is, for example [{ipBlock: {cidr: 10.1.2.3/32}}]" $proxy.host) }}
{{- end }}
{{- end }}
- to: {{- toYaml $to | nindent 4 }}
  ports: [{port: {{ $proxy.port }}}]
{{- end }}
{{- end }}

{{/* "true" if pods of a component reach public addresses. Call with (list $ "hub" what-the-values-of-the-component-say). */}}
{{- define "hai.internet" -}}
{{- $internet := (index . 0).Values.outbound.internet -}}
{{- $given := index . 2 -}}
{{- if kindIs "invalid" $given -}}
{{- if or (eq $internet "open") (and (not $internet) (has (index . 1) (list "hub" "singleuser"))) }}true{{ end -}}
{{- else if $given -}}true
{{- end -}}
{{- end }}

{{/* What tasks reach: `open`, `proxy` or `none`. Supervisors say it to who waits for an address in vain. */}}
{{- define "hai.taskInternet" -}}
{{- if or (not .Values.tasks.networkPolicy.enabled) (include "hai.internet" (list . "tasks" .Values.tasks.networkPolicy.internet)) -}}open
{{- else if include "hai.outboundProxy" . -}}proxy
{{- else -}}none
{{- end -}}
{{- end }}

{{/* Hosts that are reached without the proxy, as JSON: the platform's own, and those of the values. */}}
{{- define "hai.noProxy" -}}
{{- $hosts := list (include "hai.host" (list . "hub")) (include "hai.host" (list . "proxy-api")) (include "hai.host" (list . "proxy-public")) (include "hai.host" (list . "scheduler")) -}}
{{- if include "hai.postgresql" . }}{{ $hosts = append $hosts (include "hai.host" (list . "postgresql")) }}{{ end -}}
{{- if include "hai.redis" . }}{{ $hosts = append $hosts (include "hai.host" (list . "redis")) }}{{ end -}}
{{- concat $hosts .Values.outbound.noProxy | toJson -}}
{{- end }}

{{/* "true" if there is a file of authorities. */}}
{{- define "hai.authorities" -}}
{{- $authorities := .Values.outbound.authorities -}}
{{- if and $authorities.configMap $authorities.secret -}}
{{- fail (printf "outbound.authorities: names the ConfigMap %s and the Secret %s: one file replaces another, so write one of them" $authorities.configMap $authorities.secret) -}}
{{- end -}}
{{- if or $authorities.configMap $authorities.secret }}true{{ end -}}
{{- end }}

{{/* Fails if a namespace that is there lacks the file of authorities: its pods would wait for it, and say nothing. */}}
{{- define "hai.checkAuthorities" -}}
{{- if include "hai.authorities" . }}
{{- $authorities := .Values.outbound.authorities }}
{{- $kind := $authorities.configMap | empty | ternary "Secret" "ConfigMap" }}
{{- $name := $authorities.configMap | default $authorities.secret }}
{{- range $namespace := list .Release.Namespace (include "hai.workloads" .) | uniq }}
{{- if lookup "v1" "Namespace" "" $namespace }}
{{- $found := lookup "v1" $kind $namespace $name }}
{{- if not $found }}
{{- fail (printf "outbound.authorities: there is no %s %s in namespace %s, and pods would wait for it: make it there, with the key %s" $kind $name $namespace $authorities.key) }}
{{- else if not (or (hasKey ($found.data | default dict) $authorities.key) (hasKey ($found.binaryData | default dict) $authorities.key)) }}
{{- fail (printf "outbound.authorities.key: the %s %s in namespace %s has no key %s: it has %s" $kind $name $namespace $authorities.key (keys ($found.data | default dict) | sortAlpha | join ", ")) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Variables of the platform's own pods: in hai_client/outbound.py are those of servers and tasks. */}}
{{- define "hai.outboundEnv" -}}
{{- with include "hai.outboundProxy" . }}
{{- $address := (fromJson .).address }}
{{- $without := join "," (concat (list "localhost" "127.0.0.1" "::1" "169.254.169.254" ".svc" ".cluster.local" "$(KUBERNETES_SERVICE_HOST)") (include "hai.noProxy" $ | fromJsonArray)) }}
{{- range $name := list "HTTP_PROXY" "HTTPS_PROXY" "NO_PROXY" }}
{{- range list $name (lower $name) }}
- name: {{ . }}
  value: {{ ternary $without $address (eq $name "NO_PROXY") | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "hai.authorities" . }}
{{- range list "SSL_CERT_FILE" "REQUESTS_CA_BUNDLE" "CURL_CA_BUNDLE" "PIP_CERT" "GIT_SSL_CAINFO" "NODE_EXTRA_CA_CERTS" "AWS_CA_BUNDLE" }}
- {name: {{ . }}, value: /etc/hai/authorities/ca.crt}
{{- end }}
{{- end }}
{{- end }}

{{/* The file of authorities in the platform's own pods. */}}
{{- define "hai.authoritiesVolume" -}}
{{- if include "hai.authorities" . }}
{{- $authorities := .Values.outbound.authorities }}
- name: authorities
  {{- if $authorities.configMap }}
  configMap: {name: {{ $authorities.configMap }}, items: [{key: {{ $authorities.key | quote }}, path: ca.crt}]}
  {{- else }}
  secret: {secretName: {{ $authorities.secret }}, defaultMode: 0444, items: [{key: {{ $authorities.key | quote }}, path: ca.crt}]}
  {{- end }}
{{- end }}
{{- end }}
{{- define "hai.authoritiesMount" -}}
{{- if include "hai.authorities" . }}
- {name: authorities, mountPath: /etc/hai/authorities, readOnly: true}
{{- end }}
{{- end }}

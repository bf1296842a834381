{{/* Peers and rules of NetworkPolicies. */}}

{{/* A peer: pods of a component of this release. Call with (list $ "hub"). */}}
{{- define "hai.peer" -}}
- podSelector:
    matchLabels: {{- include "hai.selector" . | nindent 6 }}
{{- end }}

{{/* The start of a peer in the workloads' namespace; a podSelector follows. */}}
{{- define "hai.workloadsPeer" -}}
{{- if include "hai.apart" . -}}
- namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: {{ include "hai.workloads" . }}}
  podSelector:
{{- else -}}
- podSelector:
{{- end -}}
{{- end }}

{{/* The start of a peer in the platform's namespace, for policies of the workloads; a podSelector follows. */}}
{{- define "hai.platformPeer" -}}
{{- $root := index . 0 -}}
{{- if include "hai.apart" $root -}}
- namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: {{ $root.Release.Namespace }}}
  podSelector:
    matchLabels: {{- include "hai.selector" . | nindent 6 }}
{{- else -}}
{{ include "hai.peer" . }}
{{- end -}}
{{- end }}

{{/* Labels of users' servers and of training pods. */}}
{{- define "hai.serverLabels" -}}
app: jupyterhub
component: singleuser-server
release: {{ .Release.Name }}
{{- end }}
{{- define "hai.taskLabels" -}}
app.kubernetes.io/managed-by: hai
{{- end }}

{{/* Peers that may reach the scheduler service: ingress peers of the pod that runs it. The Hub asks by the Service, also
     where it runs the scheduler itself, and some networks apply policies to a way that leads back to its own pod. */}}
{{- define "hai.schedulerClients" -}}
{{ include "hai.peer" (list . "proxy") }}
{{ include "hai.peer" (list . "hub") }}
{{ include "hai.workloadsPeer" . }}
    matchLabels: {{- include "hai.taskLabels" . | nindent 6 }}
{{ include "hai.workloadsPeer" . }}
    matchLabels: {{- include "hai.serverLabels" . | nindent 6 }}
{{- end }}

{{/* Destinations of the scheduler service besides the Hub: egress rules of the pod that runs it. */}}
{{- define "hai.schedulerEgress" -}}
{{- if eq .Values.scheduler.db.type "bundled" }}
- to: {{- include "hai.peer" (list . "postgresql") | nindent 4 }}
  ports: [{port: 5432}]
{{- end }}
{{- if include "hai.redis" . }}
- to: {{- include "hai.peer" (list . "redis") | nindent 4 }}
  ports: [{port: 6379}]
{{- end }}
{{- if .Values.scheduler.separate }}
{{- include "hai.apiServerEgress" (list . .Values.scheduler.networkPolicy.egressAllowRules) }}
{{- end }}
{{- end }}

{{/* Egress rules by toggles. Call with (list $ "hub" egressAllowRules); a component that never asks outside has no name. */}}
{{- define "hai.egress" -}}
{{- $component := index . 1 -}}
{{- $rules := index . 2 -}}
{{- $private := list "10.0.0.0/8" "172.16.0.0/12" "192.168.0.0/16" "100.64.0.0/10" "fc00::/7" -}}
{{- $metadata := "169.254.169.254/32" -}}
{{- if $rules.dnsPortsPrivateIPs }}
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  to:
    - namespaceSelector: {}
    {{- range concat $private (list "169.254.0.0/16") }}
    - ipBlock: {cidr: "{{ . }}"{{ if eq . "169.254.0.0/16" }}, except: ["{{ $metadata }}"]{{ end }}}
    {{- end }}
{{- end }}
{{- if $rules.privateIPs }}
- to:
    {{- range $private }}
    - ipBlock: {cidr: "{{ . }}"}
    {{- end }}
{{- end }}
{{- if include "hai.internet" (list (index . 0) $component $rules.nonPrivateIPs) }}
- to:
    - ipBlock: {cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"]}
    - ipBlock: {cidr: "::/0", except: ["fc00::/7", "fe80::/10"]}
{{- end }}
{{- if $rules.cloudMetadataServer }}
- to:
    - ipBlock: {cidr: "{{ $metadata }}"}
{{- end }}
{{- if $component }}
{{- include "hai.outboundEgress" (index . 0) }}
{{- end }}
{{- end }}

{{/* Where the API server is: the values say it, or the cluster is asked. A list of {cidrs, ports}, as JSON.
     Network plugins look at the address before or after it was translated: the Service's and the endpoints' both count. */}}
{{- define "hai.apiServers" -}}
{{- $given := .Values.apiServer -}}
{{- $found := list -}}
{{- if $given.cidrs -}}
{{- $found = append $found (dict "cidrs" $given.cidrs "ports" ($given.ports | default (list 443 6443))) -}}
{{- else -}}
{{- with (lookup "v1" "Service" "default" "kubernetes").spec -}}
{{- $ports := list -}}
{{- range .ports }}{{ $ports = append $ports .port }}{{ end -}}
{{- $found = append $found (dict "addresses" (.clusterIPs | default (list .clusterIP)) "ports" $ports) -}}
{{- end -}}
{{- $subsets := list -}}
{{- if .Capabilities.APIVersions.Has "discovery.k8s.io/v1/EndpointSlice" -}}
{{- with lookup "discovery.k8s.io/v1" "EndpointSlice" "default" "kubernetes" -}}
{{- $addresses := list -}}
{{- range .endpoints }}{{ range .addresses }}{{ $addresses = append $addresses (dict "ip" .) }}{{ end }}{{ end -}}
{{- $subsets = list (dict "addresses" $addresses "ports" .ports) -}}
{{- end -}}
{{- end -}}
{{- if not $subsets -}}
{{- /* Kubernetes before 1.21; from 1.33 on it warns of who asks for Endpoints. */ -}}
{{- $subsets = (lookup "v1" "Endpoints" "default" "kubernetes").subsets -}}
{{- end -}}
{{- range $subsets -}}
{{- $ports := list -}}
{{- range .ports }}{{ $ports = append $ports .port }}{{ end -}}
{{- $addresses := list -}}
{{- range concat (.addresses | default list) (.notReadyAddresses | default list) }}{{ $addresses = append $addresses .ip }}{{ end -}}
{{- $found = append $found (dict "addresses" $addresses "ports" $ports) -}}
{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail "apiServer.cidrs is empty, and no cluster could be asked where its API server is: write its addresses, such as [10.0.0.10/32] of `kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes`, or switch the rule off by hub.networkPolicy.egressAllowRules.apiServer and scheduler.networkPolicy.egressAllowRules.apiServer" -}}
{{- end -}}
{{- $servers := list -}}
{{- range $found -}}
{{- $cidrs := .cidrs | default list -}}
{{- range .addresses }}{{ $cidrs = append $cidrs (printf "%s/%s" . (contains ":" . | ternary "128" "32")) }}{{ end -}}
{{- $servers = append $servers (dict "cidrs" $cidrs "ports" ($given.ports | default .ports)) -}}
{{- end -}}
{{- toJson $servers -}}
{{- end }}

{{/* An egress rule to the API server only. Call with (list $ egressAllowRules). */}}
{{- define "hai.apiServerEgress" -}}
{{- if (index . 1).apiServer }}
{{- range include "hai.apiServers" (index . 0) | fromJsonArray }}
- ports:
    {{- range .ports }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  to:
    {{- range .cidrs }}
    - ipBlock: {cidr: {{ . | quote }}}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The pods that may read metrics; empty: none may. */}}
{{- define "hai.monitoringPeers" -}}
{{- if .Values.monitoring.serviceMonitor.enabled }}
{{- with .Values.monitoring.networkPolicyFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

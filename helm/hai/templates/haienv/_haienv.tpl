{{/* The volume of the environments of haienv. */}}

{{/* The claim's name, in both namespaces. */}}
{{- define "hai.haienvClaim" -}}
{{- $volume := .Values.haienv.volume -}}
{{- if eq $volume.type "claim" -}}
{{- required "haienv.volume.type is claim: name a claim in haienv.volume.existingClaim, which exists in the namespaces of the platform and of the workloads" $volume.existingClaim -}}
{{- else -}}
{{- include "hai.name" (list . "haienv") -}}
{{- end -}}
{{- end }}

{{- define "hai.haienvVolume" -}}
- name: haienv
  persistentVolumeClaim: {claimName: {{ include "hai.haienvClaim" . }}}
{{- end }}

{{/* The pod security standard that all pods in the release's own namespace meet: the Job haienv-init alone may need less. */}}
{{- define "hai.podSecurity" -}}
{{- $context := .Values.haienv.initSecurityContext -}}
{{- $capabilities := $context.capabilities | default dict -}}
{{- $few := and $context.runAsUser (not $capabilities.add) (has "ALL" ($capabilities.drop | default list)) (eq (toString $context.allowPrivilegeEscalation) "false") -}}
{{- ternary "restricted" "baseline" (or (not .Values.haienv.enabled) (not (empty $few))) -}}
{{- end }}

{{/* The service reads environments, and writes what tasks use, nothing else. */}}
{{- define "hai.haienvMounts" -}}
- {name: haienv, mountPath: {{ .Values.haienv.root }}, readOnly: true}
- {name: haienv, mountPath: {{ .Values.haienv.root }}/references/service, subPath: references/service}
{{- end }}

{{/* Waits for the Job that makes the folders: the kubelet would make the one that is mounted, for root. Call with (list $ image component). */}}
{{- define "hai.waitForHaienv" -}}
{{- $root := index . 0 -}}
{{- $component := index . 2 -}}
- name: wait-for-haienv
  image: {{ index . 1 }}
  imagePullPolicy: {{ $component.image.pullPolicy }}
  command:
    - python
    - -c
    - |
      import os, sys, time

      while not os.path.isdir(sys.argv[1]):
          print(f"there is no {sys.argv[1]} yet: the Job haienv-init makes it", flush=True)
          time.sleep(1)
    - {{ $root.Values.haienv.root }}/references/service
  resources: {requests: {cpu: 10m, memory: 32Mi, ephemeral-storage: 1Mi}, limits: {memory: 128Mi, ephemeral-storage: 64Mi}}
  securityContext: {{- toYaml $component.containerSecurityContext | nindent 4 }}
  volumeMounts:
    - {name: haienv, mountPath: {{ $root.Values.haienv.root }}, readOnly: true}
{{- end }}

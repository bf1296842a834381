{{/* A value of a Secret, base64: given, kept from before, or new. Call with (list $ secret key given length). */}}
{{- define "hai.kept" -}}
{{- $root := index . 0 -}}
{{- $given := index . 3 -}}
{{- $before := (lookup "v1" "Secret" $root.Release.Namespace (index . 1)).data | default dict -}}
{{- if $given -}}
{{ $given | b64enc }}
{{- else if hasKey $before (index . 2) -}}
{{ get $before (index . 2) }}
{{- else if eq (index . 4) "hex" -}}
{{ randAlphaNum 64 | sha256sum | b64enc }}
{{- else -}}
{{ randAlphaNum 48 | b64enc }}
{{- end -}}
{{- end }}

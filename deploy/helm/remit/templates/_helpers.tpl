{{- define "remit.name" -}}
{{- if contains "remit" .Release.Name -}}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{- else -}}{{ printf "%s-remit" .Release.Name | trunc 52 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "remit.selector" -}}
app.kubernetes.io/name: remit
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "remit.labels" -}}
{{ include "remit.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "remit.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}{{ .Values.serviceAccount.name | default (include "remit.name" .) }}{{- else -}}{{ .Values.serviceAccount.name | default "default" }}{{- end -}}
{{- end -}}

{{- define "remit.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* What every pod of the chart is: not root, nothing writable, no token of the API server. */}}
{{- define "remit.pod" -}}
serviceAccountName: {{ include "remit.serviceAccount" . }}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "remit.container" -}}
image: {{ include "remit.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef: {name: {{ .Values.existingSecret }}}
{{- end -}}

{{/* Secrets that pods have as files: all that of the store's authority, a compactor also that of the key for checkpoints. */}}
{{- define "remit.secrets" -}}
{{- with .root.Values.storeCaSecret }}
store: {{ . }}
{{- end }}
{{- if .compactor }}
{{- with .root.Values.compactor.checkpointKeySecret }}
checkpoint: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "remit.volumes" -}}
{{- with fromYaml (include "remit.secrets" .) }}
volumes:
{{- range $name, $secret := . }}
  - name: {{ $name }}
    secret: {secretName: {{ $secret }}, defaultMode: 288} # 0440
{{- end }}
{{- end }}
{{- end -}}

{{- define "remit.mounts" -}}
{{- with fromYaml (include "remit.secrets" .) }}
volumeMounts:
{{- range $name, $_ := . }}
  - {name: {{ $name }}, mountPath: /etc/remit/{{ $name }}, readOnly: true}
{{- end }}
{{- end }}
{{- end -}}

{{/* The settings of the values, as REMIT_* variables. */}}
{{- define "remit.settings" -}}
{{- range $name, $value := .Values.settings }}
- {name: REMIT_{{ upper $name }}, value: {{ if kindIs "float64" $value }}{{ int64 $value | toString | quote }}{{ else }}{{ toString $value | quote }}{{ end }}}
{{- end }}
{{- end -}}

{{/* The name of everything that is installed: `plimsoll`, with the release's name where it differs. */}}
{{- define "plimsoll.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "plimsoll.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "plimsoll.name" .) -}}
{{- end -}}

{{/* What selects the operator's pods; it may never change. */}}
{{- define "plimsoll.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "plimsoll.labels" -}}
{{ include "plimsoll.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: plimsoll
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "plimsoll.agentName" -}}
{{- printf "%s-agent" (include "plimsoll.name" .) -}}
{{- end -}}

{{/* What selects the agents' pods; the operator's own selector must not. */}}
{{- define "plimsoll.agentSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-agent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "plimsoll.agentLabels" -}}
{{ include "plimsoll.agentSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: plimsoll
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "plimsoll.consoleName" -}}
{{- printf "%s-console" (include "plimsoll.name" .) -}}
{{- end -}}

{{/* Not empty if the console keeps a ledger. */}}
{{- define "plimsoll.keepsLedger" -}}
{{- if and .Values.console.enabled .Values.console.ledger.enabled }}true{{ end }}
{{- end -}}

{{/* What selects the console's pods; the operator's own selector must not. */}}
{{- define "plimsoll.consoleSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-console
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "plimsoll.consoleLabels" -}}
{{ include "plimsoll.consoleSelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: plimsoll
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "plimsoll.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

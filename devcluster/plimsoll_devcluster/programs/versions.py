"""The versions of the control plane and Prometheus; hack/*/go.mod name the same."""

KUBERNETES = "1.36.3"
KWOK = "0.8.0"
PROMETHEUS = "3.5.3"
PROMETHEUS_MODULE = "0.305.3"  # its Go module has a numbering of its own

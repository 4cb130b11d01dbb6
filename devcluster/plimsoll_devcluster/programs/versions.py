"""Which versions the control plane and Prometheus are built of; hack/*/go.mod name the same."""

KUBERNETES = "1.36.3"
KWOK = "0.8.0"
PROMETHEUS = "3.5.3"
PROMETHEUS_MODULE = "0.305.3"  # its Go module counts in a way of its own

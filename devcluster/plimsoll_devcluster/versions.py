"""Which versions the control plane is made of. hack/control-plane/go.mod names the same."""

KUBERNETES = "1.36.3"
KWOK = "0.8.0"

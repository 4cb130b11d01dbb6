"""The controllers of other workload kinds, as processes beside a control plane."""

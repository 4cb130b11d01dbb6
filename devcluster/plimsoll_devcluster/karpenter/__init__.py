"""Karpenter, as a process beside a control plane, and the cloud that it has."""

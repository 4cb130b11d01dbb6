"""Karpenter's NodePools in, GPUPools that may buy nodes out, for `plimsoll import karpenter`."""

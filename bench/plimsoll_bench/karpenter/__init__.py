"""Gangs whose nodes are bought, once pod by pod by Karpenter, once by plan."""

"""The agent of a GPU node: it gives the GPUs the power limit that the operator wants.

It stands alone: what it shares with the operator is what stands in the Node's annotations and in
the operator's Lease.
"""

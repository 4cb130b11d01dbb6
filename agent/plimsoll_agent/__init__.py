"""The agent of a GPU node: it applies the power limits that the operator wants to the GPUs.

It is self-contained: all that it shares with the operator are the Node's annotations and the
operator's Lease.
"""

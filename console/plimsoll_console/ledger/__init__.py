"""The ledger: who used which GPUs in which hour, for what, and what that cost.

`accounting` is pure: from what was seen of the cluster at two moments to rows by the hour.
`database` keeps the rows, `snapshots` sees the cluster, and `keeper` runs it all.
"""

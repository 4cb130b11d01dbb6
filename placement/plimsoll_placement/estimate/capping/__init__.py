"""Power caps: how many watts each server's GPUs may draw so that a domain keeps its budget.

`server` defines the inputs and outputs, `throughput` what a cap costs, `demand` what servers would
draw without caps, `levels` the caps of least loss for a given saving, and `control` when caps are
set and released.
"""

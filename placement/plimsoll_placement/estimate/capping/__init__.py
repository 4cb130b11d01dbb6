"""Power caps: which server's GPUs are limited to how many watts, so that a domain keeps its budget.

`server` has what goes in and comes out, `throughput` what a cap costs, `demand` what servers would
draw without caps, `levels` the caps of least loss for a saving, and `control` when caps are set
and released.
"""

"""The metrics of the servers and gateways that are known, as their own exporters name them."""

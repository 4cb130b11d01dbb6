"""The servers and gateways that are known: their metrics, and the PromQL that asks for them."""

"""Estimates from which problems are built: load, throughput, power, risk, prices."""

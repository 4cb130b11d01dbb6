"""Estimates that problems are built from: load, throughput, power, risk, prices."""

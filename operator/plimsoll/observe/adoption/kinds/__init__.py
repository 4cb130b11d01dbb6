"""The kinds of workloads that can be planned: one adapter each."""

"""Plan workloads of other kinds: a job stands for each workload that asks for it by a label."""

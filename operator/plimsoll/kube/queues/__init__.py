"""Fair queues and budgets for what many namespaces ask for."""

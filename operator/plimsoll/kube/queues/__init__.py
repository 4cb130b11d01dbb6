"""Fair queues and budgets for the demands of many namespaces."""

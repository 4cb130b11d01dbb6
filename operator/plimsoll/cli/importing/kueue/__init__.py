"""Kueue's objects in, JobQueues, GPUPools and PriorityClasses out, for `plimsoll import kueue`."""

"""The load that replicas started now will meet when they are ready, and how many are worth it."""

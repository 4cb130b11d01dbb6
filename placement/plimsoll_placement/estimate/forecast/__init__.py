"""The load that replicas started now will meet when ready, and how many are worth starting."""

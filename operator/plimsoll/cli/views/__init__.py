"""From the objects of a cluster to what commands show of them. Pure; the time is an argument."""

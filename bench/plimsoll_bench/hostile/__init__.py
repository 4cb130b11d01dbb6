"""What a hostile tenant does to a cluster that it shares."""

"""One vocabulary for what is said: reasons, metrics and logs."""

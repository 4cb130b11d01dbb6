"""The control loop: what wakes it, where it solves, what it reports."""

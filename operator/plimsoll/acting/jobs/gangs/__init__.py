"""The next step of a gang: it starts, runs, restarts and ends as a whole."""

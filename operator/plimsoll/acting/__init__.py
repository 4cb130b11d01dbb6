"""Turn a plan into API writes: what to write for each job, and in which order."""

"""From a plan to API calls: what is written for each job, in which order."""

"""The exchange between workers and the operator while a job runs."""

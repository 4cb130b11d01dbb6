"""The console: shows the cluster and its plan, answers questions, and accounts for what was used.

It runs beside the operator, reads the API server with rights of its own, and changes no job.
"""

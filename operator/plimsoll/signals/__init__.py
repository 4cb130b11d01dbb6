"""What Prometheus tells: the only room that talks to it.

Asked and decoded here; what the numbers mean is not decided here.
"""

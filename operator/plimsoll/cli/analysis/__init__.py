"""The computations behind the commands."""

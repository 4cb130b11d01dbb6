"""The placement problem and its solver: plain data in, plain data out."""

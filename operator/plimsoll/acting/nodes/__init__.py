"""The nodes that are bought and given back."""

"""Kueue, which admits Jobs by quota and topology, beside a control plane."""

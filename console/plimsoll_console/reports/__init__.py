"""Reports of what was used: as rows, for spreadsheets, in FOCUS's columns and as OpenCost answers.

Only namespaces that a reader may see are named; all others are one remainder.
"""

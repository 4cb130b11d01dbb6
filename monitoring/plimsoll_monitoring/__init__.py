"""What the chart brings for who watches the operator: alerts and a dashboard, from one source.

Not shipped: `make monitoring` writes the files that the chart installs. The metrics themselves are
described in docs/reference/metrics.md, and what to do about each alert in docs/guides/runbook.md.
"""

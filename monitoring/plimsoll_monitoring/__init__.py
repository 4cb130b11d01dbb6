"""Alerts and dashboards for whoever watches the operator, generated from one source.

Not shipped: `make monitoring` writes the files that the chart installs. The metrics themselves are
described in docs/reference/metrics.md, and what to do about each alert in docs/guides/runbook.md.
"""

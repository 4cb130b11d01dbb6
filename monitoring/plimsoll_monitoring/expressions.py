"""Queries that many panels are made of; `$__rate_interval` is Grafana's."""

from plimsoll_monitoring.panel import Query


def rate(counter: str, selector: str = "") -> str:
    """PromQL: how fast a counter grows, per second."""
    series = f"{counter}{{{selector}}}" if selector else counter
    return f"rate({series}[$__rate_interval])"


def quantile(share: float, histogram: str, selector: str = "") -> str:
    """PromQL: which share of what a histogram counted was no more than the result."""
    return f"histogram_quantile({share}, sum by (le) ({rate(f'{histogram}_bucket', selector)}))"


def quantiles(histogram: str, selector: str = "") -> tuple[Query, ...]:
    """The middle of what a histogram counted, and what nine in ten do not exceed."""
    return (
        Query(quantile(0.5, histogram, selector), "half"),
        Query(quantile(0.9, histogram, selector), "nine in ten"),
    )

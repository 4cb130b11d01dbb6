"""PromQL expressions shared by many panels; `$__rate_interval` is Grafana's."""

from plimsoll_monitoring.panel import Query


def rate(counter: str, selector: str = "") -> str:
    """PromQL: a counter's growth per second."""
    series = f"{counter}{{{selector}}}" if selector else counter
    return f"rate({series}[$__rate_interval])"


def quantile(share: float, histogram: str, selector: str = "") -> str:
    """PromQL: the value that the given share of a histogram's observations do not exceed."""
    return f"histogram_quantile({share}, sum by (le) ({rate(f'{histogram}_bucket', selector)}))"


def quantiles(histogram: str, selector: str = "") -> tuple[Query, ...]:
    """The median and the 90th percentile of a histogram."""
    return (
        Query(quantile(0.5, histogram, selector), "median"),
        Query(quantile(0.9, histogram, selector), "90th percentile"),
    )

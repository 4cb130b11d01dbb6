"""The pieces of PromQL that the default queries about a service are made of."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.signals.load.servers.server_metrics import Names, ServerMetrics


class Measure(StrEnum):
    """The default measurements: per replica, those of the gateway, and which server is seen."""

    REQUESTS = "Requests"
    PROMPT_TOKENS = "PromptTokens"
    GENERATION_TOKENS = "GenerationTokens"
    RUNNING = "Running"
    RUNNING_GROWTH = "RunningGrowth"
    WAITING = "Waiting"
    WAITING_GROWTH = "WaitingGrowth"
    KV_CACHE = "KVCache"
    SCRAPED = "Scraped"
    FRONT_QUEUE = "FrontQueue"
    FRONT_GROWTH = "FrontGrowth"
    UNSERVED = "Unserved"
    POOL_QUEUE = "PoolQueue"
    SERVER = "Server"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which series are queried: PromQL matchers of the cluster, and the seconds to look back."""

    window_seconds: int
    matchers: str = ""

    @property
    def window(self) -> str:
        """The time looked back, as PromQL writes it."""
        return f"{self.window_seconds}s"


def by_pod(
    names: Names, where: str, function: str, scope: Scope, of: ServerMetrics | None = None
) -> str:
    """A value for each pod, from the first metric that it has.

    A pod scraped by two jobs, or by two replicas of Prometheus, counts once.
    """
    labels = joined("pod", "job", "prometheus_replica", of.parts if of else "")
    return " or ".join(
        f"max by (pod) (sum by ({labels}) ("
        + _once(function.format(f"{series(name, where)}[{scope.window}]"), of)
        + "))"
        for name in names
    )


def series(name: str, where: str) -> str:
    """The series of a metric."""
    bare, _, more = name.rstrip("}").partition("{")
    where = joined(where, more)
    if not set(bare) & set(":|("):
        return f"{bare}{{{where}}}"
    either = bare.replace(":", "[:_]")
    return f'{{__name__=~"{either}", {where}}}'


def bucket_name(name: str) -> str:
    """The name of a histogram's buckets."""
    bare, brace, more = name.partition("{")
    each = f"({bare})" if "|" in bare else bare
    return f"{each}_bucket{brace}{more}"


def marked(measure: str, expression: str) -> str:
    """An expression whose samples say what they measure."""
    return f'label_replace({expression}, "measure", "{measure}", "", "")'


def named(names: Iterable[str], where: str) -> str:
    """For each of these metrics that has series, one sample with its name."""
    either = "|".join(name.replace(":", "[:_]") for name in names)
    selected = f'{{__name__=~"{either}", {where}}}'
    return f'max by (server) (label_replace({selected}, "server", "$1", "__name__", "(.+)"))'


def joined(*parts: str) -> str:
    """Matchers or labels in a list."""
    return ", ".join(each for each in parts if each)


def _once(expression: str, of: ServerMetrics | None) -> str:
    return f"max without ({of.copies}) ({expression})" if of and of.copies else expression

"""Accept GPU metrics only from the exporters that the administrator named, for their own nodes.

Anyone who may run a pod can have Prometheus scrape it, and claim through it that any GPU of any
node broke, or what it draws. So only series count whose target is in a named namespace and job, by
the labels `namespace`, `pod` and `job`, which Prometheus itself attaches to what it scrapes. If
they name the exporter's pod, its GPUs are those of the node where the API server knows that pod to
be, whatever other labels say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from plimsoll.observe.measured.gpu_faults import NODE_LABELS
from plimsoll.observe.measured.sample import Labels
from plimsoll.signals.prometheus.promql import pattern

POD_LABELS: Final = ("namespace", "pod")
"""The labels of the pod that was scraped."""
_NODE: Final = NODE_LABELS[0]
_NAMES_OF_NODES: Final = frozenset(NODE_LABELS) - {"instance"}
"""Labels that may name the node, other than those that name the target in any case."""


def _nowhere(namespace: str, name: str) -> str | None:
    del namespace, name


@dataclass(frozen=True, slots=True)
class Exporters:
    """The namespaces and the scrape jobs of exporters; empty: any.

    `node_of` returns the node of a pod, by its namespace and name; None if unknown. `cluster`:
    PromQL matchers that distinguish this cluster's series from others'.
    """

    namespaces: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    node_of: Callable[[str, str], str | None] = _nowhere
    cluster: str = ""

    @property
    def matchers(self) -> str:
        """PromQL matchers of their series."""
        named = {"namespace": self.namespaces, "job": self.jobs}
        mine = (f'{label}=~"{_any_of(names)}"' for label, names in named.items() if names)
        return ", ".join(filter(None, (self.cluster, *mine)))

    @property
    def pod_labels(self) -> tuple[str, ...]:
        """The labels that keep series apart so that `located` can find their pods."""
        return POD_LABELS if self.namespaces else ()

    def located(self, labels: Labels) -> Labels:
        """A series' labels with the node of its exporter's pod, if that is known.

        Without named namespaces `pod` may be anything, such as the pod that has the GPU.
        """
        if not self.namespaces:
            return labels
        node = self.node_of(*(labels.get(name, "") for name in POD_LABELS))
        if node is None:
            return labels
        others = {name: value for name, value in labels.items() if name not in _NAMES_OF_NODES}
        return {**others, _NODE: node}


ANY_EXPORTER: Final = Exporters()
"""Every scraped exporter is believed."""


def listed(names: str) -> tuple[str, ...]:
    """Split a comma-separated list of names."""
    return tuple(filter(None, map(str.strip, names.split(","))))


def _any_of(names: tuple[str, ...]) -> str:
    return "|".join(map(pattern, names))

"""What a table of a server's metrics says. Of several names the first that a pod has is used.

A name may be a regular expression, and may end with matchers in braces. A colon in it matches an
underscore, too, since some scrapes replace it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

Names = tuple[str, ...]

_UNITS: Final = {"_ms": 1e-3, "_milliseconds": 1e-3, "_us": 1e-6, "_microseconds": 1e-6}


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """The metrics of a kind of server: counters, gauges, and histograms by what they measure.

    `title`: what messages call it. `marks`: metrics by which it is recognised. `more_waiting`:
    queues that only prefill or decode replicas have, added to `waiting`. `kv_cache`: the used share
    of the KV cache, from 0 to 1. `matchers` are PromQL matchers that exclude what is no load.
    `model_label` is the label that tells models apart. Series that differ in `parts` count the same
    requests at several steps: the busiest counts. Series that differ in `copies` are the same.
    """

    title: str
    requests: Names = ()
    prompt_tokens: Names = ()
    generation_tokens: Names = ()
    running: Names = ()
    waiting: Names = ()
    more_waiting: tuple[Names, ...] = ()
    kv_cache: Names = ()
    histograms: Mapping[str, Names] = field(default_factory=dict[str, Names])
    marks: Names = ()
    matchers: str = ""
    model_label: str = ""
    parts: str = ""
    copies: str = ""


def unit_seconds(name: str) -> float:
    """The unit of a duration, by the end of its metric's name; seconds unless it says otherwise."""
    bare = name.partition("{")[0]
    return next((unit for end, unit in _UNITS.items() if bare.endswith(end)), 1.0)

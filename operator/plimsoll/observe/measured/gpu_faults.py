"""Find GPUs that broke recently, and their nodes, by the XIDs that NVIDIA's DCGM exporter reports.

`DCGM_FI_DEV_XID_ERRORS` keeps the last XID for as long as the exporter runs, so its mere presence
means nothing: it must have appeared. `DCGM_EXP_XID_ERRORS_COUNT`, where enabled, has a series with
the label `xid` for each XID of the last minutes. Only values above 0 of both are passed in here;
that a GPU had no error at some moment is inferred from its exporter having been scraped then.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.observe.measured.sample import Labels, Sample
from plimsoll.observe.measured.xid import HARDWARE_XIDS
from plimsoll.observe.whole_numbers import whole_number

FRESH: Final = timedelta(minutes=15)
"""For how long a fault counts; by default the quarantine that it causes lasts longer."""
LAST_XID: Final = "DCGM_FI_DEV_XID_ERRORS"
XIDS_OF_LATE: Final = "DCGM_EXP_XID_ERRORS_COUNT"
NODE_LABELS: Final = ("node", "kubernetes_node", "Hostname", "hostname", "nodename", "instance")
"""Labels that may hold the node's name, depending on how Prometheus is set up."""
GPU_LABELS: Final = ("UUID", "uuid", "gpu_uuid", "gpu", "device")
"""Labels that tell apart the GPUs of one exporter; labels of the pod on a GPU come and go."""
_MOST_LISTED: Final = 3
"""An exporter may put anything into a label: thousands of digits, or digits of other scripts."""
_LONGEST_NAME: Final = 63
"""How much of an exporter's name for a GPU is reported; a UUID has 40 characters."""

Target = tuple[str, str]
Series = tuple[Target, str, str]


@dataclass(frozen=True, slots=True)
class GpuFault:
    """A GPU had a hardware error that it did not have just before `since`."""

    labels: Labels
    xid: int
    since: datetime

    @property
    def gpu(self) -> tuple[Target, str]:
        """Which GPU it is: its exporter, and the GPU there."""
        return _target(self.labels), _gpu(self.labels)

    def __str__(self) -> str:
        """What happened, for people."""
        gpu = self.labels.get("gpu") or self.labels.get("device") or ""
        uuid = next((self.labels[n] for n in GPU_LABELS[:3] if n in self.labels), "")
        name = " ".join(part for part in (gpu, f"({uuid})" if uuid else "") if part)
        return f"XID {self.xid} of GPU {name[:_LONGEST_NAME]}: {HARDWARE_XIDS[self.xid]}"


def suspects(errors: Iterable[Sample]) -> set[Target]:
    """The exporters (job and instance) that report a hardware error, however old."""
    return {_target(sample.labels) for sample in errors if _xid(sample) in HARDWARE_XIDS}


def gpu_faults(errors: Iterable[Sample], scrapes: Iterable[Sample]) -> tuple[GpuFault, ...]:
    """The hardware errors that appeared, from samples taken at several recent moments.

    `errors` are the samples above 0 of both metrics, `scrapes` the samples of `up` that are 1, both
    at the same moments.
    """
    scraped: dict[Target, set[datetime]] = defaultdict(set)
    for sample in scrapes:
        scraped[_target(sample.labels)].add(sample.at)
    seen: dict[Series, dict[datetime, dict[int, Labels]]] = defaultdict(dict)
    for sample in errors:
        seen[_series(sample.labels)].setdefault(sample.at, {})[_xid(sample)] = sample.labels
    found = (fault for key, moments in seen.items() for fault in _new(moments, scraped[key[0]]))
    return tuple(sorted(found, key=lambda fault: (fault.since, fault.xid, str(fault))))


def faulty_nodes(faults: Iterable[GpuFault], nodes: Iterable[str], now: datetime) -> dict[str, str]:
    """The recent faults on each of these nodes, by name; old ones are omitted."""
    known = frozenset(nodes)
    found: dict[str, list[str]] = defaultdict(list)
    for fault in faults:
        node = node_of(fault.labels, known)
        if node is not None and now - fault.since < FRESH and str(fault) not in found[node]:
            found[node].append(str(fault))
    return {node: _sentence(found[node]) for node in sorted(found)}


def node_of(labels: Labels, known: frozenset[str]) -> str | None:
    """The node of a series: the first label that names one; None if none does."""
    names = (labels.get(label, "") for label in NODE_LABELS)
    return next((n for name in names for n in (name, _host(name)) if n in known), None)


def _host(address: str) -> str:
    return address.rpartition(":")[0]


def _new(
    moments: Mapping[datetime, Mapping[int, Labels]], scraped: Iterable[datetime]
) -> Iterator[GpuFault]:
    """The latest appearance of each XID that was absent at the moment before."""
    came: dict[int, GpuFault] = {}
    before: Mapping[int, Labels] | None = None
    for at in sorted({*moments, *scraped}):
        present = moments.get(at, {})
        for xid, labels in present.items() if before is not None else ():
            if xid in HARDWARE_XIDS and xid not in (before or {}):
                came[xid] = GpuFault(labels, xid, at)
        before = present
    yield from came.values()


def _target(labels: Labels) -> Target:
    return labels.get("job", ""), labels.get("instance", "")


def _series(labels: Labels) -> Series:
    return _target(labels), labels.get("__name__", ""), _gpu(labels)


def _gpu(labels: Labels) -> str:
    return next((labels[name] for name in GPU_LABELS if name in labels), "")


def _xid(sample: Sample) -> int:
    if sample.labels.get("__name__") != XIDS_OF_LATE:
        return int(sample.value)
    return whole_number(sample.labels.get("xid", "")) or 0


def _sentence(faults: list[str]) -> str:
    more = f"; and {len(faults) - _MOST_LISTED} more" if len(faults) > _MOST_LISTED else ""
    return "; ".join(faults[:_MOST_LISTED]) + more

"""Observations for tests of the ledger, and what its rows sum to."""

from collections import defaultdict
from collections.abc import Iterable

from plimsoll_console.ledger.accounting.observation import (
    MS_PER_HOUR,
    Account,
    Devices,
    Holding,
    Level,
    Observation,
    Place,
    SeenNode,
)
from plimsoll_console.ledger.accounting.tally import Tally, Use

GPU = "nvidia.com/gpu"
MINUTE = 60_000
START = 490_000 * MS_PER_HOUR
"""Some full hour."""
H100 = Place("H100", "reserved", "Reserved", microdollars=2_500_000)


def an_account(name: str = "train", queue: str = "research", namespace: str = "team-a") -> Account:
    return Account("TrainingJob", namespace, name, f"uid-{name}", queue, f"{name}@example.com")


def a_node(  # noqa: PLR0913 - a builder: all but one are left out
    name: str = "n1",
    gpus: int = 8,
    *,
    created: int = 0,
    usable: bool = True,
    levels: Iterable[Level] = (),
    place: Place = H100,
) -> SeenNode:
    devices = Devices(GPU, place, gpus * 1000, idle_watts=75, busy_watts=560)
    return SeenNode(f"uid-{name}", created, (devices,), usable, tuple(levels))


def a_pod(  # noqa: PLR0913 - same
    name: str,
    *,
    milli: int = 1000,
    node: str = "n1",
    since: int = START,
    works: int | None = START,
    leaves: int | None = None,
    ends: int | None = None,
    account: Account | None = None,
) -> Holding:
    whose = account or an_account()
    times = {"works_ms": works, "leaves_ms": leaves, "ends_ms": ends}
    return Holding(f"pod-{name}", f"uid-{node}", GPU, milli, whose, since, **times, watts=560)


def at(time: int, nodes: Iterable[SeenNode] = (), pods: Iterable[Holding] = ()) -> Observation:
    return Observation(time, tuple(nodes), tuple(pods))


def by_use(tally: Tally) -> dict[Use, int]:
    """Milli-GPU-milliseconds by what they went into."""
    sums: dict[Use, int] = defaultdict(int)
    for key, amount in tally:
        sums[key.use] += amount.milli_ms
    return dict(sums)

"""What becomes of a cap that its node does not keep? It stays asked for until there is room.

Taken back at once, such a cap would be asked for again by the next reading, for then nothing stands
against the node any more. Meanwhile other nodes save what this one should.
"""

from collections.abc import Mapping, Sequence

from plimsoll_placement.estimate.capping.domain import Server


def unkept_caps(
    servers: Sequence[Server], wanted: Mapping[str, int | None]
) -> Mapping[str, int | None]:
    """What stays asked for, in watts by node: of those in use that cannot be capped now."""
    stubborn = (s for s in servers if s.gpus and s.min_cap_watts is None)
    return {s.name: wanted[s.name] for s in stubborn if wanted.get(s.name) is not None}


def released_watts(servers: Sequence[Server], unkept: Mapping[str, int | None]) -> int:
    """By how much more is drawn at most without these caps, as far as they are in force."""
    return sum(
        s.gpus * max(0, s.draw_watts - s.cap_watts)
        for s in servers
        if s.name in unkept and s.cap_watts is not None
    )

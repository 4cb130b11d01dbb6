"""Handle caps that their nodes do not keep: each stays requested until there is headroom.

If such a cap were withdrawn at once, the next reading would request it again, since nothing would
then count against the node. Meanwhile other nodes save what this one should.
"""

from collections.abc import Mapping, Sequence

from plimsoll_placement.estimate.capping.domain import Server


def unkept_caps(
    servers: Sequence[Server], wanted: Mapping[str, int | None]
) -> Mapping[str, int | None]:
    """Caps that stay requested, in watts by node: of nodes in use that cannot be capped now."""
    stubborn = (s for s in servers if s.gpus and s.min_cap_watts is None)
    return {s.name: wanted[s.name] for s in stubborn if wanted.get(s.name) is not None}


def released_watts(servers: Sequence[Server], unkept: Mapping[str, int | None]) -> int:
    """The most by which the draw would rise without these caps, as far as they are in force."""
    return sum(
        s.gpus * max(0, s.draw_watts - s.cap_watts)
        for s in servers
        if s.name in unkept and s.cap_watts is not None
    )

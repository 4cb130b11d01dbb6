"""Servers of a power domain for tests, and what they draw under caps."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from plimsoll_placement.estimate.capping.domain import Server
from plimsoll_placement.estimate.capping.throughput import throughput_share


def a_server(name: str = "a", rank: int = 0, **facts: float | None) -> Server:
    """Eight GPUs of 70 to 700 W that draw 600 W each when nothing caps them."""
    usual = {
        "gpus": 8,
        "idle_watts": 70,
        "draw_watts": 600,
        "min_cap_watts": 200,
        "limit_watts": 700,
        "exponent": 0.35,
    }
    return Server(name, rank, **(usual | facts))  # pyright: ignore[reportArgumentType]


def under(caps: Mapping[str, int | None], servers: Iterable[Server]) -> list[Server]:
    """The servers once these caps are in force."""
    return [replace(server, cap_watts=caps[server.name]) for server in servers]


def drawn(servers: Iterable[Server]) -> int:
    """What servers as expected draw under the caps in force."""
    return sum(s.gpus * min(s.draw_watts, _cap(s)) for s in servers)


def lost(servers: Iterable[Server]) -> float:
    """The GPUs' worth of throughput that the caps in force cost."""
    return sum(s.gpus * (1 - _share(s)) for s in servers)


def _share(s: Server) -> float:
    return throughput_share(
        _cap(s), idle_watts=s.idle_watts, draw_watts=s.draw_watts, exponent=s.exponent
    )


def _cap(server: Server) -> int:
    return server.limit_watts if server.cap_watts is None else server.cap_watts

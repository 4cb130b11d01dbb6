"""Draw which job ran where over time, one row per node, as SVG."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from plimsoll_simulator.gpu_pools import Pool, node_names
from plimsoll_simulator.simulation import Run, Stay

SECONDS_PER_HOUR = 3600
WIDTH, LEFT, TOP = 1200, 110, 34
GPU_HEIGHT, GAP = 7, 6
SHORTEST_NAMED = 40
"""Bars narrower than this many points show their name only in the tooltip."""

HUES = 47
"""Steps around the colours, coprime with 360, so that successive jobs look different."""


@dataclass(frozen=True, slots=True)
class _Bar:
    """A part of a job's stay: on one node, from row to row of its GPUs."""

    stay: Stay
    node: str
    first: int
    gpus: int


def picture(run: Run, pools: tuple[Pool, ...]) -> str:
    """The drawing; a bar is a job on a node, as high as it has GPUs there."""
    tops = _tops(pools)
    height = max(top + gpus * GPU_HEIGHT for top, gpus in tops.values()) + GAP
    end = max((stay.ends for stay in run.stays), default=1.0)
    hues = {life.arrival.name: i * HUES % 360 for i, life in enumerate(run.lives)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        '<g font-family="sans-serif" font-size="9">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        *_grid(tops, end, height),
        *(_drawn(bar, tops, end, hues) for bar in _bars(run, pools)),
        "</g></svg>\n",
    ]
    return "\n".join(parts)


def _tops(pools: tuple[Pool, ...]) -> dict[str, tuple[int, int]]:
    """Where each node's row begins, and its GPUs."""
    tops: dict[str, tuple[int, int]] = {}
    at = TOP
    for pool in pools:
        for name in node_names(pool):
            tops[name] = (at, pool.gpus_per_node)
            at += pool.gpus_per_node * GPU_HEIGHT + GAP
    return tops


def _bars(run: Run, pools: tuple[Pool, ...]) -> Iterator[_Bar]:
    """All stays node by node, each in the lowest adjacent free rows."""
    until = {name: [0.0] * pool.gpus_per_node for pool in pools for name in node_names(pool)}
    for stay in sorted(run.stays, key=lambda each: each.begins):
        for node, gpus in stay.place.on.items():
            first = _first_row(until[node], gpus, stay.begins)
            until[node][first : first + gpus] = [stay.ends] * gpus
            yield _Bar(stay, node, first, gpus)


def _first_row(until: list[float], gpus: int, begins: float) -> int:
    """The first of enough adjacent free rows, or of those that become free soonest."""
    starts = range(len(until) - gpus + 1)
    return min(starts, key=lambda i: (max(0.0, max(until[i : i + gpus]) - begins), i))


def _x(seconds: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - GAP) * seconds / end


def _drawn(
    bar: _Bar, tops: Mapping[str, tuple[int, int]], end: float, hues: Mapping[str, int]
) -> str:
    left, right = _x(bar.stay.begins, end), _x(bar.stay.ends, end)
    y, height = tops[bar.node][0] + bar.first * GPU_HEIGHT, bar.gpus * GPU_HEIGHT
    name = escape(bar.stay.job)
    label = (
        f'<text x="{left + 2:.1f}" y="{y + height / 2 + 3:.1f}">{name}</text>'
        if right - left >= SHORTEST_NAMED
        else ""
    )
    return (
        f"<g><title>{name}: {bar.stay.place.gpus} × {escape(bar.stay.place.gpu_type)}</title>"
        f'<rect x="{left:.1f}" y="{y}" width="{max(right - left, 0.5):.1f}" height="{height - 1}" '
        f'fill="hsl({hues[bar.stay.job]} 65% 72%)"/>{label}</g>'
    )


def _grid(tops: Mapping[str, tuple[int, int]], end: float, height: int) -> Iterator[str]:
    for name, (top, gpus) in tops.items():
        yield (
            f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - GAP}" '
            f'height="{gpus * GPU_HEIGHT}" fill="#f2f2f2"/>'
            f'<text x="{LEFT - 4}" y="{top + gpus * GPU_HEIGHT / 2 + 3}" '
            f'text-anchor="end">{escape(name)}</text>'
        )
    hours = int(end // SECONDS_PER_HOUR)
    for hour in range(0, hours + 1, max(1, hours // 12)):
        x = _x(hour * SECONDS_PER_HOUR, end)
        yield (
            f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height}" stroke="#ccc"/>'
            f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle">{hour} h</text>'
        )

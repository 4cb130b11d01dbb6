"""Draw how many GPUs were used, and which job ran where, over time, one row per node, as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from plimsoll_simulator.diary import NodeLife, Stay
from plimsoll_simulator.report.usage import Usage, usage
from plimsoll_simulator.story import Lived

SECONDS_PER_HOUR = 3600
WIDTH, LEFT, TOP = 1200, 150, 34
STRIP = 90
"""The height of the strip above the rows: GPUs held, GPUs waited for, and all that there are."""
HELD, WANTED = "hsl(210 55% 70%)", "hsl(10 75% 75%)"
HEIGHT = 1000
"""What rows become smaller for, as far as they can."""
GPU_HEIGHTS = (1.0, 7.0)
"""The least and the most points of a GPU."""
GAPS = 0.8
"""The gap between nodes, as a share of a GPU's height."""
SHORTEST_NAMED = 60
LEAST_NAMED_HEIGHT = 7
"""Bars that are narrower or lower than this many points show their name only in the tooltip."""

HUES = 47
"""Steps around the colours, coprime with 360, so that successive jobs look different."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A node's place in the picture, and when it was there."""

    name: str
    top: float
    gpus: int
    lives: tuple[NodeLife, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    """The rows by node, and the scales of both axes."""

    rows: Mapping[str, _Row]
    gpu_height: float
    height: float
    end: float

    def x(self, seconds: float) -> float:
        """Where a time is."""
        return LEFT + (WIDTH - LEFT - 6) * seconds / self.end

    def box(self, begins: float, ends: float, top: float, gpus: int) -> str:
        """The attributes of a rectangle."""
        left, right = self.x(begins), self.x(ends)
        height = max(gpus * self.gpu_height - (1 if self.gpu_height > 2 else 0), 0.5)  # noqa: PLR2004
        return (
            f'x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.5):.1f}"'
            f' height="{height:.1f}"'
        )


@dataclass(frozen=True, slots=True)
class _Bar:
    """A stay, from row to row of its GPUs on the node."""

    stay: Stay
    first: int


def picture(lived: Lived) -> str:
    """The drawing; a bar is a pod on a node, as high as it has GPUs there."""
    page = _page(lived)
    jobs = dict.fromkeys(run.name for run in lived.runs) | {s.job: None for s in lived.stays}
    hues = {name: i * HUES % 360 for i, name in enumerate(jobs)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {page.height:.0f}">',
        '<g font-family="sans-serif" font-size="9">',
        f'<rect width="{WIDTH}" height="{page.height:.0f}" fill="white"/>',
        *_strip(usage(lived), page),
        *_grid(page),
        *(_drawn(bar, page, hues) for bar in _bars(lived.stays, page.rows)),
        "</g></svg>\n",
    ]
    return "\n".join(parts)


def _page(lived: Lived) -> _Page:
    by_name = {
        name: tuple(lives)
        for name, lives in groupby(
            sorted(lived.nodes, key=lambda each: (each.gpu_type, each.name)),
            key=lambda each: each.name,
        )
    }
    sizes = {name: max(each.gpus for each in lives) for name, lives in by_name.items()}
    heights = sum(sizes.values()) + GAPS * len(sizes)
    gpu_height = min(max(HEIGHT / max(heights, 1.0), GPU_HEIGHTS[0]), GPU_HEIGHTS[1])
    rows: dict[str, _Row] = {}
    top = float(TOP + STRIP + 12)
    for name, lives in by_name.items():
        rows[name] = _Row(name, top, sizes[name], lives)
        top += (sizes[name] + GAPS) * gpu_height
    return _Page(rows, gpu_height, top + 6, max(lived.seconds, 1.0))


def _strip(found: Usage, page: _Page) -> Iterator[str]:
    """GPUs held, those waited for on top of them, and a line for all that there are."""
    times = sorted({0.0, page.end, *found.held.times, *found.wanted.times, *found.offered.times})
    held = [found.held.at(time) for time in times]
    wanted = [value + found.wanted.at(time) for value, time in zip(held, times, strict=True)]
    offered = [found.offered.at(time) for time in times]
    # The last changes are those of the end, at which all is given back.
    times, held, wanted, offered = times[:-1], held[:-1], wanted[:-1], offered[:-1]
    most = max(*wanted, *offered, 1.0)
    bottom = TOP + STRIP

    def outline(values: Sequence[float]) -> str:
        levels = [bottom - STRIP * value / most for value in values]
        ends = [*times[1:], page.end]
        corners = zip(times, ends, levels, strict=True)
        return " ".join(f"{page.x(a):.1f},{y:.1f} {page.x(b):.1f},{y:.1f}" for a, b, y in corners)

    floor = f"{page.x(page.end):.1f},{bottom} {LEFT},{bottom}"
    yield f'<polygon points="{outline(wanted)} {floor}" fill="{WANTED}"/>'
    yield f'<polygon points="{outline(held)} {floor}" fill="{HELD}"/>'
    yield f'<polyline points="{outline(offered)}" fill="none" stroke="#444"/>'
    for line, (text, colour) in enumerate(_LEGEND):
        y = TOP + 9 + 12 * line
        yield f'<text x="{LEFT - 4}" y="{y}" text-anchor="end" fill="{colour}">{text}</text>'


_LEGEND = (
    ("GPUs there", "#444"),
    ("waited for", "hsl(10 65% 45%)"),
    ("held", "hsl(210 55% 40%)"),
)


def _bars(stays: Sequence[Stay], rows: Mapping[str, _Row]) -> Iterator[_Bar]:
    """All stays, each in the lowest adjacent free rows of its node."""
    until = {name: [0.0] * row.gpus for name, row in rows.items()}
    for stay in sorted(stays, key=lambda each: (each.begins, each.job, each.node)):
        first = _first_row(until[stay.node], stay.gpus, stay.begins)
        until[stay.node][first : first + stay.gpus] = [stay.ends] * stay.gpus
        yield _Bar(stay, first)


def _first_row(until: Sequence[float], gpus: int, begins: float) -> int:
    """The first of enough adjacent free rows, or of those that become free soonest."""
    starts = range(len(until) - gpus + 1)
    return min(starts, key=lambda i: (max(0.0, max(until[i : i + gpus]) - begins), i))


def _drawn(bar: _Bar, page: _Page, hues: Mapping[str, int]) -> str:
    stay, row = bar.stay, page.rows[bar.stay.node]
    top, height = row.top + bar.first * page.gpu_height, stay.gpus * page.gpu_height
    left, right = page.x(stay.begins), page.x(stay.ends)
    name = escape(stay.job.partition("/")[2])
    is_named = right - left >= SHORTEST_NAMED and height >= LEAST_NAMED_HEIGHT
    label = f'<text x="{left + 2:.1f}" y="{top + height / 2 + 3:.1f}">{name}</text>'
    return (
        f"<g><title>{escape(stay.job)}: {stay.gpus} × {escape(row.lives[0].gpu_type)}</title>"
        f"<rect {page.box(stay.begins, stay.ends, top, stay.gpus)}"
        f' fill="hsl({hues[stay.job]} 65% 72%)"/>{label if is_named else ""}</g>'
    )


def _grid(page: _Page) -> Iterator[str]:
    labelled = -float(LEAST_NAMED_HEIGHT)
    for row in page.rows.values():
        for life in row.lives:
            box = page.box(life.begins, life.ends, row.top, row.gpus)
            yield f'<rect {box} fill="#eeeeee"/>'
        middle = row.top + row.gpus * page.gpu_height / 2 + 3
        if middle - labelled >= LEAST_NAMED_HEIGHT:
            labelled = middle
            text = escape(row.name)
            yield f'<text x="{LEFT - 4}" y="{middle:.1f}" text-anchor="end">{text}</text>'
    hours = int(page.end // SECONDS_PER_HOUR)
    for hour in range(0, hours + 1, max(1, hours // 12)):
        x = page.x(hour * SECONDS_PER_HOUR)
        yield (
            f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{page.height:.0f}" stroke="#ccc"/>'
            f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle">{hour} h</text>'
        )

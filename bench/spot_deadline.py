"""What it costs to finish by a deadline on spot capacity that comes and goes.

    python bench/spot_deadline.py --series SERIES.json.gz ... --windows windows.csv --json

48 hours of work in windows of recorded series, for deadlines of 52, 70 and 92 hours and starts that
take 0.02, 0.2 and 0.4 hours; files and rules are described in `plimsoll_bench/spot/series.py`. By
default the operator runs the jobs on a twin of a cluster (`plimsoll_bench/spot/on_twin.py`), in
one of the windows: `--sample` says how many, and each takes some two minutes a series. `--preset`
is the policy's; only `Economy` lets jobs wait for spot. With
`--path library` its policy decides alone, at each tick, in all windows unless `--sample` is given.
The references and the optimum with full knowledge of the future are printed beside it.
`--every-window` takes all windows of the file instead of the chosen ones.
"""

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import get_args

from plimsoll.api.placement_policy import Preset
from plimsoll.vocabulary.logs import configure_logging
from plimsoll_bench.output import print_json
from plimsoll_bench.spot.clairvoyant import least_dollars
from plimsoll_bench.spot.library import Planned
from plimsoll_bench.spot.on_twin import outcomes_on_twin
from plimsoll_bench.spot.rivals import REFERENCES
from plimsoll_bench.spot.series import (
    OVERHEAD_HOURS,
    TERMS_HOURS,
    TICK_SECONDS,
    Outcome,
    Runner,
    Window,
    outcome,
    series_in,
    terms_of,
    windows_in,
)
from plimsoll_placement.estimate.spot.policy import SpotPolicy

OURS, OPTIMUM = "plimsoll", "clairvoyant"
USUAL_SAMPLE = 1

Ticks = Sequence[bool]
Runners = dict[str, Callable[[], Runner]]


def outcomes(ticks: Ticks, others: Callable[[float], Runners]) -> Iterator[tuple[str, Outcome]]:
    """Each other policy's outcome of each run in a window, and the optimum's."""
    for overhead in OVERHEAD_HOURS:
        terms = terms_of(overhead)
        least = least_dollars(ticks, TERMS_HOURS, terms)
        for hours in TERMS_HOURS:
            yield OPTIMUM, Outcome(least[hours], late=False)
            for name, made in others(overhead).items():
                yield name, outcome(ticks, hours, terms, made())


def references(overhead: float) -> Runners:
    """How to begin a run of each reference, by the length of a start."""
    terms = terms_of(overhead)
    return {name: lambda made=made: made(terms) for name, made in REFERENCES.items()}


def with_library(policy: SpotPolicy) -> Callable[[float], Runners]:
    """The same, and how to begin a run of ours."""

    def runners(overhead: float) -> Runners:
        return {OURS: lambda: Planned(terms_of(overhead), policy), **references(overhead)}

    return runners


def operators(ticks: Ticks, window: Window, preset: Preset) -> list[Outcome]:
    """The operator's outcomes of each run in a window."""
    return [found for _, _, found in outcomes_on_twin(ticks, window, preset=preset)]


def chosen(arguments: argparse.Namespace) -> list[Window]:
    """The windows to run in, evenly spread over those of the file."""
    windows = windows_in(arguments.windows, every=arguments.every_window)
    usual = USUAL_SAMPLE if arguments.path == "operator" else len(windows)
    count = min(arguments.sample or usual, len(windows))
    return [windows[number * len(windows) // count] for number in range(count)]


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints: ours first, then each reference."""
    series = [series_in(path) for path in arguments.series]
    windows = chosen(arguments)
    longest = max(TERMS_HOURS) * 3600 / TICK_SECONDS
    if any(window.end - window.start < longest for window in windows):
        raise SystemExit(f"{arguments.windows}: a window is shorter than {longest:.0f} ticks")
    last = max(window.end for window in windows)
    for path, ticks in zip(arguments.series, series, strict=True):
        if len(ticks) < last:
            raise SystemExit(f"{path}: data ends after {len(ticks)} ticks, but a window at {last}")
    started = time.monotonic()
    found: dict[str, list[Outcome]] = defaultdict(list)
    pairs = [(up, window) for up in series for window in windows]
    others = references
    if arguments.path == "library":
        others = with_library(SpotPolicy())
    else:
        quiet = ("ERROR",)
        with ProcessPoolExecutor(os.cpu_count(), None, configure_logging, quiet) as pool:
            ours = partial(operators, preset=arguments.preset)
            for runs in pool.map(ours, *zip(*pairs, strict=True)):
                found[OURS].extend(runs)
    for up, window in pairs:
        for name, each in outcomes(up[window.start : window.end], others):
            found[name].append(each)
    summaries = {name: _summary(of) for name, of in found.items()}
    optimum = fmean(each.dollars for each in found[OPTIMUM])
    return {
        "path": arguments.path,
        **summaries.pop(OURS),
        "over_clairvoyant": fmean(each.dollars for each in found[OURS]) / optimum,
        "windows": len(windows),
        "references": summaries,
        "seconds": time.monotonic() - started,
    }


def _summary(found: Sequence[Outcome]) -> dict[str, object]:
    return {
        "mean_cost": fmean(each.dollars for each in found),
        "late": sum(each.late for each in found),
        "runs": len(found),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--series", type=Path, nargs="+", required=True)
    parser.add_argument("--windows", type=Path, required=True)
    parser.add_argument("--path", choices=("operator", "library"), default="operator")
    parser.add_argument("--preset", choices=get_args(Preset), default="Economy")
    parser.add_argument("--sample", type=int, help="how many of the windows to run in")
    parser.add_argument("--every-window", action="store_true")
    parser.add_argument("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    if arguments.sample is not None and arguments.sample < 1:
        parser.error("--sample: must be 1 or more")
    if arguments.path == "library" and arguments.preset != "Economy":
        parser.error("--preset: the policy alone has none; it is for --path operator")
    print_json(figures(arguments), indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()

"""What it costs to finish by a deadline on spot capacity that comes and goes.

    python bench/spot_deadline.py --series SERIES.json.gz ... --windows windows.csv --json

48 hours of work in windows of recorded series, for deadlines of 52, 70 and 92 hours and starts that
take 0.02, 0.2 and 0.4 hours; files and rules are described in `plimsoll_bench/spot/series.py`. Ours
begins each run knowing nothing of the series but the prior in `runs.py`. The references and the
optimum with full knowledge of the future are printed beside it. `--every-window` takes all windows
of the file.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from plimsoll_bench.output import print_json
from plimsoll_bench.spot.clairvoyant import least_dollars
from plimsoll_bench.spot.policy import DeadlinePolicy
from plimsoll_bench.spot.rivals import REFERENCES, Planned
from plimsoll_bench.spot.series import (
    OVERHEAD_HOURS,
    TERMS_HOURS,
    TICK_SECONDS,
    WORK_SECONDS,
    Outcome,
    Runner,
    Window,
    outcome,
    series_in,
    terms_of,
    windows_in,
)
from plimsoll_placement.estimate.spot.choice import SpotTerms

Ticks = Sequence[bool]
Runners = dict[str, Callable[[], Runner]]


def runners(terms: SpotTerms) -> Runners:
    """How to begin a run of each policy under these terms."""
    policy = DeadlinePolicy(terms, work_seconds=WORK_SECONDS, seconds=max(TERMS_HOURS) * 3600)
    found: Runners = {"plimsoll": lambda: Planned(policy)}
    for name, made in REFERENCES.items():
        found[name] = lambda made=made: made(terms)
    return found


def outcomes(series: Sequence[Ticks], windows: Sequence[Window]) -> Iterator[tuple[str, Outcome]]:
    """Each policy's outcome of each run, and the optimum's."""
    for overhead in OVERHEAD_HOURS:
        terms = terms_of(overhead)
        begin = runners(terms)
        for ticks in (up[window.start : window.end] for up in series for window in windows):
            least = least_dollars(ticks, TERMS_HOURS, terms)
            for hours in TERMS_HOURS:
                yield "clairvoyant", Outcome(least[hours], late=False)
                for name, made in begin.items():
                    yield name, outcome(ticks, hours, terms, made())


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints: ours first, then each reference."""
    series = [series_in(path) for path in arguments.series]
    windows = windows_in(arguments.windows, every=arguments.every_window)
    longest = max(TERMS_HOURS) * 3600 / TICK_SECONDS
    if any(window.end - window.start < longest for window in windows):
        raise SystemExit(f"{arguments.windows}: a window is shorter than {longest:.0f} ticks")
    last = max(window.end for window in windows)
    for path, ticks in zip(arguments.series, series, strict=True):
        if len(ticks) < last:
            raise SystemExit(f"{path}: data ends after {len(ticks)} ticks, but a window at {last}")
    started = time.process_time()
    found: dict[str, list[Outcome]] = defaultdict(list)
    for name, each in outcomes(series, windows):
        found[name].append(each)
    summaries = {name: _summary(of) for name, of in found.items()}
    ours = summaries.pop("plimsoll")
    return ours | {"references": summaries, "seconds": time.process_time() - started}


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
    parser.add_argument("--every-window", action="store_true")
    parser.add_argument("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    print_json(figures(arguments), indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()

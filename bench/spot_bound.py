"""What not knowing the future costs by a deadline on spot, at best and under our policy.

    python bench/spot_bound.py --series SERIES.json.gz ... --json

Each series is taken for a random process (`plimsoll_bench/spot/process.py`), fitted to the series
itself. The best policy that knows the process, but not what comes, is compared with the optimum
that knows the future, over the same runs as in `spot_deadline.py`, in windows drawn from the
process. If spot is such a process, no policy does better on average. The operator's policy, which
must learn the process, runs in the same windows, as under `spot_deadline.py --path library`.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from plimsoll_bench.output import print_json
from plimsoll_bench.spot.clairvoyant import least_dollars
from plimsoll_bench.spot.known_process import Choices, Knowing, best_choices
from plimsoll_bench.spot.library import Planned
from plimsoll_bench.spot.process import Draw, fitted
from plimsoll_bench.spot.series import (
    OVERHEAD_HOURS,
    TERMS_HOURS,
    TICK_SECONDS,
    outcome,
    series_in,
    terms_of,
)
from plimsoll_placement.estimate.spot.choice import SpotTerms
from plimsoll_placement.estimate.spot.lifetimes import Floats
from plimsoll_placement.estimate.spot.policy import SpotPolicy

USUAL_WINDOWS = 50
TICKS = round(max(TERMS_HOURS) * 3600 / TICK_SECONDS)
RUNS = len(OVERHEAD_HOURS) * len(TERMS_HOURS)
"""In each window."""
COLUMNS = "plimsoll", "known_process", "clairvoyant"
POLICY = SpotPolicy()


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints."""
    started, generator = time.monotonic(), np.random.default_rng(arguments.seed)
    shape = (len(arguments.series), arguments.windows, len(COLUMNS))
    found, late = np.zeros(shape), 0
    for number, path in enumerate(arguments.series):
        process = fitted(series_in(path))
        drawn = [process.drawn(TICKS, generator) for _ in range(arguments.windows)]
        for terms in map(terms_of, OVERHEAD_HOURS):
            choices = best_choices(process, terms, TICKS)
            for window, states in enumerate(drawn):
                runs = list(_runs(process.up[states].tolist(), choices, terms, states))
                found[number, window] += np.sum([dollars for dollars, _ in runs], axis=0) / RUNS
                late += sum(is_late for _, is_late in runs)
    means = found.mean(axis=(0, 1))
    return {
        **dict(zip(COLUMNS, means.tolist(), strict=True)),
        "over_clairvoyant": {
            name: {"mean": means[column] / means[-1], "standard_error": _error(found, column)}
            for column, name in enumerate(COLUMNS[:-1])
        },
        "late": late,
        "runs": RUNS * arguments.windows * len(arguments.series),
        "seconds": time.monotonic() - started,
    }


def _runs(
    up: Sequence[bool], choices: Sequence[Choices], terms: SpotTerms, states: Draw
) -> Iterator[tuple[tuple[float, float, float], int]]:
    """By deadline, the dollars of each of `COLUMNS`, and how many of them are late."""
    least = least_dollars(up, TERMS_HOURS, terms)
    for hours in TERMS_HOURS:
        ours = outcome(up, hours, terms, Planned(terms, POLICY))
        knowing = outcome(up, hours, terms, Knowing(choices, terms, states))
        yield (ours.dollars, knowing.dollars, least[hours]), ours.late + knowing.late


def _error(found: Floats, column: int) -> float:
    """The standard error of the ratio of a column to the optimum, from drawing windows."""
    ours, least = found[..., column], found[..., -1]
    rest = ours - ours.mean() / least.mean() * least
    return float(np.sqrt(rest.var(axis=1).sum() / rest.shape[1]) / len(rest) / least.mean())


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--series", type=Path, nargs="+", required=True)
    parser.add_argument("--windows", type=int, default=USUAL_WINDOWS, help="of each series")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    if arguments.windows < 1:
        parser.error("--windows: must be 1 or more")
    print_json(figures(arguments), indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()

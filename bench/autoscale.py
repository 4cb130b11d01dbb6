"""What it costs to serve recorded request rates when replicas take a while to start.

    python bench/autoscale.py --rates rates.csv.gz --model NAME --lead 1 --fit-until 604800 --json

The file and the score are described in `plimsoll_bench/serving/rates.py`. What comes after
`--fit-until` is scored; what has to be fixed in advance is fixed on what comes before, for the
references from `--fit-from` on. Ours goes on learning from what has been seen. `--frontier` adds
what each could reach at any share of unserved load, with the best headroom, or price, in hindsight.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from plimsoll_bench.output import print_json
from plimsoll_bench.serving.policies import (
    Task,
    forecasts,
    hpa,
    keda,
    plimsoll,
    ridge,
    ridge_predictions,
)
from plimsoll_bench.serving.rates import Floats, outcome, rates_in
from plimsoll_placement.estimate.forecast.distribution import Forecast
from plimsoll_placement.estimate.forecast.price_curve import PRICES

SKIPPED_SHARE = 2 / 7
HEADROOMS = np.geomspace(1.0, 3.0, 56)
FRONTIER_PERCENT = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


def task_of(arguments: argparse.Namespace) -> Task:
    """The task that the command line describes."""
    rates = rates_in(arguments.rates, arguments.model)
    begin = arguments.fit_from
    if begin is None:
        begin = SKIPPED_SHARE * arguments.fit_until
    first, begin = rates.window(arguments.fit_until), rates.window(begin)
    if not arguments.lead <= begin < first < len(rates.loads):
        raise SystemExit("there is nothing to fit on before, or nothing to score after")
    known = np.isfinite(rates.loads)
    if not known[begin:first].any() or not known[first:].any():
        what = "all windows to fit on, or all to score, have no requests"
        raise SystemExit(f"{arguments.rates}: {what} of the model {arguments.model}")
    return Task(rates, arguments.lead, begin, first, arguments.unserved_percent / 100)


def figures(task: Task, *, frontier: bool) -> dict[str, object]:
    """What the benchmark prints."""
    started = time.process_time()
    made = list(forecasts(task))
    chosen = {
        "plimsoll": plimsoll(task, made),
        "hpa": hpa(task),
        "keda": keda(task),
        "ridge": ridge(task),
    }
    found: dict[str, object] = {
        name: asdict(outcome(task.scored, replicas)) for name, replicas in chosen.items()
    }
    found["windows"] = int(np.isfinite(task.scored).sum())
    found["seconds"] = time.process_time() - started
    if frontier:
        found["frontier"] = frontiers(task, [forecast for forecast, _ in made])
    return found


def frontiers(task: Task, made: Sequence[Forecast]) -> dict[str, object]:
    """The cost of each policy by unserved percent, with its one parameter chosen in hindsight."""
    swept = {
        "plimsoll": [np.array([each.replicas(price, 1.0) for each in made]) for price in PRICES]
    }
    for name, predicted in (("keda", task.last_seen()), ("ridge", ridge_predictions(task))):
        late = predicted[task.first :]
        swept[name] = [np.ceil(headroom * late) for headroom in HEADROOMS]
    return {name: _frontier(task, each) for name, each in swept.items()}


def _frontier(task: Task, swept: Sequence[Floats]) -> dict[str, float]:
    """The least cost at each share of `FRONTIER_PERCENT` that is reached."""
    reached = [outcome(task.scored, replicas) for replicas in swept]
    found: dict[str, float] = {}
    for percent in FRONTIER_PERCENT:
        within = [each.cost_ratio for each in reached if each.unserved_percent <= percent]
        if within:
            found[str(percent)] = min(within)
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rates", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--lead", type=int, default=1, help="windows that a start takes")
    parser.add_argument("--fit-until", type=float, required=True, help="seconds")
    parser.add_argument("--fit-from", type=float, help="seconds; two sevenths of --fit-until")
    parser.add_argument("--unserved-percent", type=float, default=0.5, help="what is allowed")
    parser.add_argument("--frontier", action="store_true")
    parser.add_argument("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    found = figures(task_of(arguments), frontier=arguments.frontier)
    print_json(found, indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()

"""What it costs to serve recorded request rates when replicas take a while to start.

    python bench/autoscale.py --rates rates.csv.gz --model NAME --lead 1 --fit-until 604800 --json
    python bench/autoscale.py --rates rates.csv.gz --all

The file and the score are described in `plimsoll_bench/serving/rates.py`. What comes after
`--fit-until` is scored; what has to be fixed in advance is fixed on what comes before, for the
references from `--fit-from` on. Ours is what the operator's own functions would do, and goes on
learning from what has been seen. `--frontier` adds what each could reach at any share of unserved
load, with the best headroom, or price, in hindsight. `--all` runs every model of the file at leads
of one and two windows, always with the frontier, and sums up.
"""

import argparse
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from plimsoll_bench.output import print_json
from plimsoll_bench.serving.operator_path import Choice, OperatorPath
from plimsoll_bench.serving.policies import Task, hpa, keda, ridge, ridge_predictions
from plimsoll_bench.serving.rates import Floats, Outcome, models_in, outcome, rates_in
from plimsoll_placement.estimate.forecast.price_curve import PRICES

SKIPPED_SHARE = 2 / 7
FITTED_SHARE = 4 / 7
ALL_LEADS = (1, 2)
HEADROOMS = np.geomspace(1.0, 3.0, 56)
FRONTIER_PERCENT = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Found:
    """What a task came to: the outcome of each policy, and perhaps their frontiers."""

    outcomes: Mapping[str, Outcome]
    windows: int
    seconds: float
    frontiers: Mapping[str, Mapping[str, float]] | None

    def figures(self) -> dict[str, object]:
        """What is printed of it."""
        found: dict[str, object] = {name: asdict(each) for name, each in self.outcomes.items()}
        found |= {"windows": self.windows, "seconds": self.seconds}
        return found if self.frontiers is None else found | {"frontier": self.frontiers}


def task_of(arguments: argparse.Namespace, model: str, lead: int) -> Task:
    """The task that the command line describes."""
    rates = rates_in(arguments.rates, model)
    until, begin = arguments.fit_until, arguments.fit_from
    if until is None:
        until = FITTED_SHARE * len(rates.loads) * rates.step_seconds + rates.starts[0]
    if begin is None:
        begin = SKIPPED_SHARE * until
    first, begin = rates.window(until), rates.window(begin)
    if not lead <= begin < first < len(rates.loads):
        raise SystemExit(
            f"{arguments.rates}: of the {len(rates.loads)} windows of the model {model}, there is"
            " nothing to fit on before --fit-until, or nothing to score after"
        )
    known = np.isfinite(rates.loads)
    if not known[begin:first].any() or not known[first:].any():
        what = "all windows to fit on, or all to score, have no requests"
        raise SystemExit(f"{arguments.rates}: {what} of the model {model}")
    return Task(rates, lead, begin, first, arguments.unserved_percent / 100)


def found_of(task: Task, *, frontier: bool) -> Found:
    """What each policy makes of a task."""
    started = time.process_time()
    choices = list(OperatorPath(task).choices())
    chosen = {
        "plimsoll": np.array([each.replicas for each in choices], np.float64),
        "hpa": hpa(task),
        "keda": keda(task),
        "ridge": ridge(task),
    }
    return Found(
        {name: outcome(task.scored, replicas) for name, replicas in chosen.items()},
        int(np.isfinite(task.scored).sum()),
        time.process_time() - started,
        frontiers(task, choices) if frontier else None,
    )


def frontiers(task: Task, choices: Sequence[Choice]) -> dict[str, dict[str, float]]:
    """The cost of each policy by unserved percent, with its one parameter chosen in hindsight."""
    swept = {"plimsoll": [np.array([each.at(price) for each in choices]) for price in PRICES]}
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


def summary(found: Iterable[Found], percent: float) -> dict[str, object]:
    """The worst of ours over all tasks, and what they cost over the best price in hindsight."""
    ours = [each.outcomes["plimsoll"] for each in found]
    unserved = [each.unserved_percent for each in ours]
    best = [(each.frontiers or {})["plimsoll"].get(f"{percent:g}", math.nan) for each in found]
    over = [each.cost_ratio / least for each, least in zip(ours, best, strict=True)]
    return {
        "unserved_percent": {"least": min(unserved), "most": max(unserved)},
        "cost_ratio": {"mean": sum(each.cost_ratio for each in ours) / len(ours)},
        "cost_over_frontier": {"most": max(over)},
    }


def of_all(arguments: argparse.Namespace) -> dict[str, object]:
    """What is printed of all models at all leads."""
    found = {
        f"{model}/{lead}": found_of(task_of(arguments, model, lead), frontier=True)
        for model in models_in(arguments.rates)
        for lead in ALL_LEADS
    }
    shown: dict[str, object] = {name: each.figures() for name, each in found.items()}
    return shown | {"summary": summary(list(found.values()), arguments.unserved_percent)}


def _checked(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    if arguments.lead < 1:
        parser.error("--lead: must be a window or more")
    if not 0 < arguments.unserved_percent < 100:  # noqa: PLR2004  (percent)
        parser.error("--unserved-percent: must be above 0 and below 100")
    if (arguments.model is None) != arguments.all:
        parser.error("needs either --model or --all, but not both")
    for name in ("fit_until", "fit_from"):
        if not math.isfinite(getattr(arguments, name) or 0.0):
            parser.error(f"--{name.replace('_', '-')}: must be a number of seconds")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rates", type=Path, required=True)
    parser.add_argument("--model")
    parser.add_argument("--all", action="store_true", help="every model, at leads of 1 and 2")
    parser.add_argument("--lead", type=int, default=1, help="windows that a start takes")
    parser.add_argument("--fit-until", type=float, help="seconds; default: 4/7 of what there is")
    parser.add_argument("--fit-from", type=float, help="seconds; default: 2/7 of --fit-until")
    parser.add_argument("--unserved-percent", type=float, default=0.5, help="what is allowed")
    parser.add_argument("--frontier", action="store_true")
    parser.add_argument("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    _checked(parser, arguments)
    if arguments.all:
        shown = of_all(arguments)
    else:
        task = task_of(arguments, arguments.model, arguments.lead)
        shown = found_of(task, frontier=arguments.frontier).figures()
    print_json(shown, indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()

"""How large the largest pressure is when several models share each GPU, and how long that takes.

    python bench/shared_models.py --instances FILE

FILE holds a JSON list of instances: `gpus`, `gpu_mem_gb` and `models` with `size_gb`, `req_rate`
and `slo`. The pressure on a GPU is the sum of rate/slo over the gigabytes that its models leave
free. Every answer is verified by code that the solver does not share. Seconds are CPU seconds; a
figure of another program that an instance carries is repeated beside ours.
"""

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean

from plimsoll_bench.output import print_json
from plimsoll_bench.recorded import Row, json_in, objects_of
from plimsoll_bench.sharing.check import sharing_mistakes
from plimsoll_bench.sharing.placing import MOST_STATES, shared
from plimsoll_bench.sharing.shared_models import Model, ModelName, SharingProblem, Unshared

GIGABYTE = 10**9
RECORDED = "kvpr_cpsat_best"


@dataclass(frozen=True, slots=True)
class Result:
    """One instance solved; pressures in load per gigabyte."""

    instance: int
    pressure: float
    bound: float
    gap_percent: float
    seconds: float
    recorded: float | None


class UnsolvedError(Exception):
    """An instance that has no answer, or one that is wrong."""


def problem(instance: Row) -> SharingProblem:
    """The instance as a sharing problem; numbers are taken as they are written."""
    return SharingProblem(
        models=tuple(
            Model(
                ModelName(f"model-{place}"),
                int(_exact(each.positive("size_gb")) * GIGABYTE),
                _exact(each.number("req_rate")) / _exact(each.positive("slo")),
            )
            for place, each in enumerate(instance.parts("models"))
        ),
        gpus=instance.whole("gpus", least=1),
        memory_bytes=int(_exact(instance.positive("gpu_mem_gb")) * GIGABYTE),
    )


def _exact(value: float) -> Fraction:
    return Fraction(str(value))


def result(place: int, instance: Row, most_states: int) -> Result:
    """One instance solved and verified."""
    posed = problem(instance)
    start = time.process_time()
    found = shared(posed, most_states)
    seconds = time.process_time() - start
    if isinstance(found, Unshared):
        raise UnsolvedError(f"instance {place}: the models do not fit")
    mistakes = sharing_mistakes(posed, found)
    if mistakes:
        raise UnsolvedError(f"instance {place}: {'; '.join(mistakes)}")
    return Result(
        instance=place,
        pressure=float(found.pressure * GIGABYTE),
        bound=float(found.bound * GIGABYTE),
        gap_percent=found.gap_percent,
        seconds=seconds,
        recorded=instance.number(RECORDED) if instance.has(RECORDED) else None,
    )


def summary(results: list[Result]) -> dict[str, object]:
    """The figures over all instances, and of each."""
    recorded = [each.recorded for each in results if each.recorded is not None]
    return {
        "mean_pressure": fmean(each.pressure for each in results),
        "max_seconds": max(each.seconds for each in results),
        "mean_bound": fmean(each.bound for each in results),
        "max_gap_percent": max(each.gap_percent for each in results),
        "proven": sum(not each.gap_percent for each in results),
        "recorded_mean_pressure": fmean(recorded) if recorded else None,
        "instances": [
            {
                "instance": each.instance,
                "pressure": each.pressure,
                "bound": each.bound,
                "gap_percent": each.gap_percent,
                "seconds": each.seconds,
            }
            for each in results
        ],
    }


def main() -> None:
    """Print the summary as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=Path, required=True, help="a JSON list of instances")
    parser.add_argument("--states", type=int, default=MOST_STATES, help="partial packings for each")
    options = parser.parse_args()
    instances = objects_of(json_in(options.instances), str(options.instances))
    results = [result(place, instance, options.states) for place, instance in enumerate(instances)]
    print_json(summary(results))


if __name__ == "__main__":
    main()

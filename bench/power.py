"""How many more servers fit under a power budget when caps hold it, and what that costs.

    python bench/power.py --profiles lm-arena-chat.json.gz --rates rates.csv.gz --seeds 1 2 3

The files are described in `plimsoll_bench/power/profiles.py`, the simulated row in `row.py`, the
policies and the score in `policies.py`. The budget is what `--servers` servers draw at their GPUs'
limit. For each share of `--extra` more servers (percent), and each seed, the same row is simulated
second by second under Plimsoll's caps, without caps, and under static caps that guarantee the
budget. The answer is the largest share up to which, with every seed, the budget is never exceeded
for longer than is allowed, and high and low priority lose no more than `--most-loss` and
`--most-low-loss`.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from plimsoll_bench.output import print_json
from plimsoll_bench.power.policies import POLICIES, Plimsoll, PolicyTerms, Score
from plimsoll_bench.power.profiles import Curve, Traffic, curves_in, traffic_in
from plimsoll_bench.power.row import GPUS, Make, hours, row

Figures = Mapping[str, float]


def simulated(
    make: Make, terms: PolicyTerms, seed: int, curves: list[Curve], traffic: list[Traffic]
) -> dict[str, Figures]:
    """The figures of each policy on one row."""
    rng = np.random.default_rng((seed, make.servers))
    made = row(make, curves, traffic, rng)
    policies = {name: policy(made, terms) for name, policy in POLICIES.items()}
    scores = {name: Score(made, terms) for name in POLICIES}
    for hour in hours(made, rng):
        for name, policy in policies.items():
            scores[name].add(hour, policy.caps(hour))
    found: dict[str, Figures] = {name: score.figures() for name, score in scores.items()}
    ours = policies["plimsoll"]
    if isinstance(ours, Plimsoll):
        changes = ours.changes / make.hours / make.servers
        found["plimsoll"] = {**found["plimsoll"], "cap_changes_per_server_hour": changes}
    return found


def worst(runs: Sequence[Mapping[str, Figures]]) -> dict[str, dict[str, float]]:
    """The worst of each figure over the seeds."""
    return {
        name: {key: round(max(run[name][key] for run in runs), 3) for key in runs[0][name]}
        for name in runs[0]
    }


def largest(
    frontier: Mapping[int, Mapping[str, Figures]], most_loss: float, most_low_loss: float
) -> int:
    """The most additional servers with which the terms are kept, in percent; 0 if none."""
    best = 0
    for extra, found in sorted(frontier.items()):
        ours = found["plimsoll"]
        is_lost = ours["high_priority_loss_percent"] > most_loss
        if is_lost or ours["violations"] or ours["low_priority_loss_percent"] > most_low_loss:
            break
        best = extra
    return best


def make_of(arguments: argparse.Namespace, extra: int) -> Make:
    """The row with this many more servers, in percent."""
    return Make(
        servers=round(arguments.servers * (1 + extra / 100)),
        high_share=arguments.high_share,
        training_share=arguments.training_share,
        peak_load=arguments.peak_load,
        shift_hours=arguments.shift_hours,
        idle_watts=arguments.idle_watts,
        limit_watts=arguments.limit_watts,
        hours=arguments.hours,
    )


def terms_of(arguments: argparse.Namespace) -> PolicyTerms:
    """The budget and how often it is checked."""
    return PolicyTerms(
        budget_watts=arguments.servers * GPUS * arguments.limit_watts,
        overshoot_seconds=arguments.overshoot_seconds,
        poll_seconds=arguments.poll_seconds,
        age_seconds=arguments.age_seconds,
        act_seconds=arguments.act_seconds,
        min_cap_watts=arguments.min_cap_watts,
        expected_watts=arguments.typical_watts,
    )


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints."""
    curves = curves_in(
        arguments.profiles,
        arguments.gpu,
        most_itl_ms=arguments.most_itl_ms,
        loaded_watts=arguments.loaded_watts,
    )
    traffic = traffic_in(arguments.rates, most_burstiness=arguments.most_burstiness)
    terms = terms_of(arguments)
    frontier: dict[int, dict[str, dict[str, float]]] = {}
    for extra in arguments.extra:
        make = make_of(arguments, extra)
        frontier[extra] = worst(
            [simulated(make, terms, seed, curves, traffic) for seed in arguments.seeds]
        )
    best = largest(frontier, arguments.most_loss, arguments.most_low_loss)
    ours = frontier[best]["plimsoll"] if best in frontier else {}
    keys = ("violations", "high_priority_loss_percent", "low_priority_loss_percent")
    return {
        "extra_servers_percent": best,
        **{key: ours.get(key) for key in keys},
        "seeds": arguments.seeds,
        "curves": len(curves),
        "frontier": frontier,
    }


def arguments_of(line: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--profiles", type=Path, required=True)
    parser.add_argument("--rates", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--extra", type=int, nargs="+", default=[0, 10, 20, 30, 40, 50])
    parser.add_argument("--servers", type=int, default=40, help="by nameplate")
    parser.add_argument("--hours", type=int, default=168)
    parser.add_argument("--most-loss", type=float, default=1.0, help="percent")
    parser.add_argument("--most-low-loss", type=float, default=5.0, help="percent")
    parser.add_argument("--high-share", type=float, default=0.5)
    parser.add_argument("--training-share", type=float, default=0.25)
    parser.add_argument("--peak-load", type=float, default=0.9)
    parser.add_argument("--shift-hours", type=float, default=2.0)
    parser.add_argument("--most-burstiness", type=float, default=float("inf"))
    parser.add_argument("--overshoot-seconds", type=int, default=10)
    parser.add_argument("--poll-seconds", type=int, default=5)
    parser.add_argument("--age-seconds", type=int, default=3)
    parser.add_argument("--act-seconds", type=int, default=2)
    _add_gpu(parser)
    return parser.parse_args(line)


def _add_gpu(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpu", default="H100", help="gpu_model of the profiles")
    parser.add_argument("--most-itl-ms", type=float, default=50.0)
    parser.add_argument("--idle-watts", type=int, default=70)
    parser.add_argument("--loaded-watts", type=int, default=120, help="with a model, no requests")
    parser.add_argument("--typical-watts", type=int, default=600)
    parser.add_argument("--limit-watts", type=int, default=700)
    parser.add_argument("--min-cap-watts", type=int, default=200)


def main() -> None:
    """Run from the command line."""
    print_json(figures(arguments_of()), indent=2)


if __name__ == "__main__":
    main()

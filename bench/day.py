r"""A recorded day of training and serving on spot and lasting nodes, and what others make of it.

    python bench/day.py --profiles PROFILES/ --workload W.csv... --rates RATES.csv.gz \
        --characterization C.csv --series SPOT.json.gz... --json

Workloads begin eight hours after one another; `plimsoll_bench/day/` describes the cluster, the
services and the rivals, which place pods on the same twin of the same cluster. All of them end
after a day, whatever is left to do. Each plan searches for at most `--effort` deterministic
seconds; with 0 the first plan is taken, in a quarter of the time. `--pictures FOLDER` draws all.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import get_args

from plimsoll.api.placement_policy import Preset
from plimsoll.vocabulary.logs import only_errors
from plimsoll_bench.day.figures import Figures, of_day
from plimsoll_bench.day.rivals import Rival, Rules, static_nodes
from plimsoll_bench.day.scene import Scene, jobs_in, spot_in
from plimsoll_bench.day.services import DAY_SECONDS, SERVICES, truth
from plimsoll_bench.elastic.files import applications_checked
from plimsoll_bench.output import print_json
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS
from plimsoll_simulator.recorded.recording import applications_in
from plimsoll_simulator.report.picture import picture
from plimsoll_simulator.story import End, told
from plimsoll_simulator.twin import TwinTerms

RIVALS = ("first_come_first_served", "priority_preemption", "static_partitions")
OURS = "plimsoll"


def scene_of(arguments: argparse.Namespace) -> Scene:
    """The day that the arguments describe."""
    types = [pool.gpu_type for pool in SIA_POOLS]
    applications_checked(arguments.profiles, types)
    applications = applications_in(arguments.profiles, types)
    random = Random(arguments.seed)
    return Scene(
        applications,
        jobs_in(arguments.workload, applications),
        {
            each: truth(each, arguments.rates, arguments.characterization, arguments.day)
            for each in SERVICES
        },
        spot_in(arguments.series, random),
        arguments.seed,
    )


def rules_of(name: str, scene: Scene) -> Rules:
    """What a rival goes by."""
    return {
        "first_come_first_served": Rules(),
        "priority_preemption": Rules(preempts=True),
        "static_partitions": Rules(of_services=static_nodes(scene.services.values())),
    }[name]


def figures_of(name: str, arguments: argparse.Namespace) -> Figures:
    """The day as the operator or a rival makes it."""
    scene, terms = scene_of(arguments), TwinTerms(most_effort_seconds=arguments.effort)
    if name != OURS:
        rules = rules_of(name, scene)
        terms = TwinTerms(operate=lambda twin: Rival(twin, rules).operate())
    with only_errors():
        lived = told(
            scene.submissions(arguments.preset),
            scene.meanwhile(),
            terms=terms,
            end=End(seconds=DAY_SECONDS),
        )
    if arguments.pictures is not None:
        (arguments.pictures / f"{name}.svg").write_text(picture(lived), encoding="utf-8")
    return of_day(lived)


def main() -> None:
    """Read the command line and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--profiles", type=Path, required=True)
    parser.add_argument("--workload", type=Path, required=True, nargs="+")
    parser.add_argument("--rates", type=Path, required=True)
    parser.add_argument("--characterization", type=Path, required=True)
    parser.add_argument("--series", type=Path, required=True, nargs=3)
    parser.add_argument("--day", type=int, default=6, help="of the rates, from 0")
    parser.add_argument("--preset", choices=get_args(Preset), default="Balanced")
    parser.add_argument("--effort", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", choices=(OURS, *RIVALS), action="append")
    parser.add_argument("--json", action="store_true", help="as all benchmarks print; the default")
    arguments = parser.parse_args()
    if not arguments.effort >= 0:
        parser.error("--effort: must be a number of 0 or more")
    scene_of(arguments)
    names = arguments.only or [OURS, *RIVALS]
    if arguments.pictures is not None:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(arguments.processes) as pool:
        found = dict(zip(names, pool.map(figures_of, names, [arguments] * len(names)), strict=True))
    ours = {"path": "operator", **asdict(found.pop(OURS))} if OURS in found else {}
    print_json({**ours, "rivals": {name: asdict(each) for name, each in found.items()}}, indent=2)


if __name__ == "__main__":
    main()

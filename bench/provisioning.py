r"""What a recorded day costs whose nodes are all bought, compared with Karpenter and the least.

    python bench/provisioning.py --profiles PROFILES/ --workload W.csv... --rates RATES.csv.gz \
        --characterization C.csv --series SPOT.json.gz... --json

Workloads begin eight hours after one another. Services serve, and jobs come, for `--hours`; the day
is over once all jobs are done. `plimsoll_bench/provisioning/` describes what can be rented
(`market.py`), Karpenter's rule (`karpenter.py`) and the bound (`bound.py`). The cluster begins
without a node. `--series` are two zones of spot for T4, A100 and RTX 2080 Ti each; a random day of
each is taken by the seed.
"""

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, get_args

from plimsoll.api.placement_policy import Preset
from plimsoll.observe.nodes.orders import Way
from plimsoll.vocabulary.logs import only_errors
from plimsoll_bench.day.scene import jobs_in
from plimsoll_bench.day.services import DAY_SECONDS, SERVICES, truth
from plimsoll_bench.elastic.files import applications_checked
from plimsoll_bench.output import print_json
from plimsoll_bench.provisioning.bound import bound_dollars
from plimsoll_bench.provisioning.figures import Figures, of_day
from plimsoll_bench.provisioning.karpenter import Karpenter, Terms
from plimsoll_bench.provisioning.market import PRICES, sources
from plimsoll_bench.provisioning.scene import Scene
from plimsoll_bench.spot.series import series_in
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS
from plimsoll_simulator.recorded.recording import applications_in
from plimsoll_simulator.story import Lived, told
from plimsoll_simulator.twin import TwinTerms

OURS: Final = "plimsoll"
RIVALS: Final = ("karpenter", "karpenter_owner_chooses")
ZONES: Final = 2


@dataclass(frozen=True, slots=True)
class Side:
    """What became of the day by one side."""

    figures: Figures
    bound_dollars: float | None


def scene_of(arguments: argparse.Namespace) -> Scene:
    """The day that the arguments describe."""
    types = [pool.gpu_type for pool in SIA_POOLS]
    applications_checked(arguments.profiles, types)
    applications = applications_in(arguments.profiles, types)
    seconds = arguments.hours * 3600.0
    jobs = [
        job for job in jobs_in(arguments.workload, applications) if job.arrival.seconds < seconds
    ]
    if not jobs:
        raise SystemExit(f"no job comes within {arguments.hours} hours: raise --hours")
    services = {
        each: truth(each, arguments.rates, arguments.characterization, arguments.day)
        for each in SERVICES
    }
    spot = _spot_in(arguments.series, Random(arguments.seed))
    return Scene(applications, jobs, services, sources(spot), seconds, arguments.least_share)


def _spot_in(paths: Sequence[Path], random: Random) -> dict[str, list[Sequence[bool]]]:
    """Each series from a random tick on, by GPU type."""
    zones = iter(_from_somewhere(series_in(path), random) for path in paths)
    return {gpu_type: [next(zones) for _ in range(ZONES)] for gpu_type in PRICES}


def _from_somewhere(up: Sequence[bool], random: Random) -> Sequence[bool]:
    start = random.randrange(len(up))
    return (*up[start:], *up[:start])


def objective_of(arguments: argparse.Namespace) -> Raw:
    """What the operator's plans are to be good at."""
    if arguments.money is None:
        return {"preset": arguments.preset}
    return {"weights": {"money": arguments.money}}


def lived_by(name: str, scene: Scene, arguments: argparse.Namespace) -> Lived:
    """The day as the operator or a rival makes it."""
    terms = TwinTerms(most_effort_seconds=arguments.effort)
    terms = replace(terms, loop=replace(terms.loop, ways=frozenset({Way.NODE_CLAIM})))
    if name != OURS:
        rule = Terms(arguments.consolidate_after, owner_chooses=name == RIVALS[1])
        terms = TwinTerms(operate=lambda twin: Karpenter(twin, scene.sources, rule).operate())
    with only_errors():
        return told(scene.submissions(objective_of(arguments)), scene.meanwhile(), terms=terms)


def side_of(name: str, arguments: argparse.Namespace) -> Side:
    """One side; the bound is that of the operator's own day."""
    scene = scene_of(arguments)
    lived = lived_by(name, scene, arguments)
    return Side(of_day(lived), bound_dollars(lived, scene.sources) if name == OURS else None)


def compared(sides: Mapping[str, Side]) -> dict[str, object]:
    """The figures of all sides, and where ours is there, what it pays relative to the others."""
    each: dict[str, object] = {name: asdict(side.figures) for name, side in sides.items()}
    if OURS not in sides:
        return each
    ours, rivals = sides[OURS], [side.figures for name, side in sides.items() if name != OURS]
    dollars, bound = ours.figures.dollars, ours.bound_dollars
    least = min(rivals, key=lambda found: found.dollars, default=None)
    of_rivals = {} if least is None else _against(ours.figures, least)
    of_bound = {} if bound is None else {"bound_dollars": bound, "ratio_to_bound": dollars / bound}
    return {"path": "operator", "dollars": dollars, **of_rivals, **of_bound, **each}


def _against(ours: Figures, rival: Figures) -> dict[str, object]:
    """Relative to the rival that pays least."""
    waits = ours.waiting_p50_s <= rival.waiting_p50_s and ours.waiting_p95_s <= rival.waiting_p95_s
    return {
        "karpenter_dollars": rival.dollars,
        "ratio_to_karpenter": ours.dollars / rival.dollars,
        "waits_no_longer": waits,
        "serves_no_less": ours.unserved_fraction <= rival.unserved_fraction,
    }


def main() -> None:
    """Read the command line and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--profiles", type=Path, required=True)
    parser.add_argument("--workload", type=Path, required=True, nargs="+")
    parser.add_argument("--rates", type=Path, required=True)
    parser.add_argument("--characterization", type=Path, required=True)
    parser.add_argument("--series", type=Path, required=True, nargs=ZONES * len(PRICES))
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--least-share", type=float, default=0.5, help="of workers asked for")
    parser.add_argument("--day", type=int, default=6, help="of the rates, from 0")
    parser.add_argument("--preset", choices=get_args(Preset), default="Economy")
    parser.add_argument("--money", help="its weight, instead of a preset")
    parser.add_argument("--effort", type=float, default=0.0)
    parser.add_argument("--consolidate-after", type=float, default=60.0, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", choices=(OURS, *RIVALS), action="append")
    parser.add_argument("--json", action="store_true", help="as all benchmarks print; the default")
    arguments = parser.parse_args()
    if not 0 < arguments.hours <= DAY_SECONDS / 3600:
        parser.error("--hours: must be more than 0 and at most 24")
    if not 0 < arguments.least_share <= 1:
        parser.error("--least-share: must be more than 0 and at most 1")
    scene_of(arguments)
    names = arguments.only or [OURS, *RIVALS]
    with ProcessPoolExecutor(arguments.processes) as pool:
        sides = pool.map(partial(side_of, arguments=arguments), names)
        found = dict(zip(names, sides, strict=True))
    print_json(compared(found), indent=2)


if __name__ == "__main__":
    main()

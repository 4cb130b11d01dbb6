"""How soon elastic training jobs finish that share GPUs of several types, compared with Sia's rule.

    python bench/elastic.py --profiles profiles/ --workload workload-1.csv --policy plimsoll --json

The recordings are described in `simulator/plimsoll_simulator/recorded/` (`timings.py`,
`training.py` and `recording.py`). By default (`--path operator`) jobs are objects on the twin,
submitted as their users would (`submission.py` there), and the operator's own code plans and places
them; each plan searches for at most `--effort` deterministic seconds.

With `--rates none` jobs name no GPU types and state no rates; their mean completion time with both
is `with_rates_mean_jct_hours`.

With `--path library` only the solver is Plimsoll's, in the simulator of Sia's rule: both decide
every 60 s, and know the ratio of the speeds of one GPU of each type and what a job's own runs have
shown, step times without any noise; no job may have more than twice the GPUs that it has run with.
There, `--undeclared-work` hides from Plimsoll how much work a job has to do, `--true-profiles` lets
jobs know their recorded timings from the beginning, and `--nodes-matter` makes a move to another
node a restart; as in Sia's own simulator it is none otherwise. Round seconds are CPU seconds; the
seed breaks Sia's ties.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from random import Random
from typing import get_args

from plimsoll.api.placement_policy import Preset
from plimsoll.vocabulary.logs import only_errors
from plimsoll_bench.elastic.figures import Figures, of_rounds, of_twin
from plimsoll_bench.elastic.files import applications_checked, check_workload
from plimsoll_bench.elastic.rounds.nodes_seen import ByNode, ByType
from plimsoll_bench.elastic.rounds.planned import Planned
from plimsoll_bench.elastic.rounds.simulation import Policy, Rules, simulate
from plimsoll_bench.elastic.sia import Sia
from plimsoll_bench.output import print_json
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS
from plimsoll_simulator.recorded.recording import applications_in, arrivals_in
from plimsoll_simulator.recorded.submission import setting, submissions
from plimsoll_simulator.story import told
from plimsoll_simulator.twin import TwinTerms


def check(arguments: argparse.Namespace) -> None:
    """End the program where a file makes no sense."""
    applications = applications_checked(arguments.profiles, [pool.gpu_type for pool in SIA_POOLS])
    for workload in arguments.workload:
        check_workload(workload, applications)


def rows_of(arguments: argparse.Namespace, workload: Path) -> dict[str, float]:
    """The figures of one workload under the policy, by name."""
    found = asdict(figures_of(arguments, workload))
    if arguments.rates == "given":
        return found
    given = argparse.Namespace(**{**vars(arguments), "rates": "given"})
    return found | {"with_rates_mean_jct_hours": figures_of(given, workload).mean_jct_hours}


def figures_of(arguments: argparse.Namespace, workload: Path) -> Figures:
    """The figures of one workload under the policy."""
    applications = applications_in(arguments.profiles, [pool.gpu_type for pool in SIA_POOLS])
    arrivals = arrivals_in(workload)
    if path_of(arguments) == "operator":
        terms = TwinTerms(most_effort_seconds=arguments.effort)
        events = (
            setting(SIA_POOLS, arguments.preset),
            submissions(
                arrivals, applications, SIA_POOLS, states_speeds=arguments.rates == "given"
            ),
        )
        with only_errors():
            return of_twin(told(chain(*events), terms=terms))
    is_sia = arguments.policy == "sia"
    policy: Policy = (
        Sia(Random(arguments.seed))
        if is_sia
        else Planned(
            declares_work=not arguments.undeclared_work,
            ground=ByNode() if arguments.nodes_matter else ByType(),
        )
    )
    rules = Rules(moves_are_free=not arguments.nodes_matter, knows_timings=arguments.true_profiles)
    return of_rounds(simulate(arrivals, applications, SIA_POOLS, policy, rules))


def path_of(arguments: argparse.Namespace) -> str:
    """Whose code decides: the operator's, its library's alone, or a rival's."""
    return "rival" if arguments.policy == "sia" else str(arguments.path)


def geometric_means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Over workloads."""
    return {
        key: math.exp(sum(math.log(max(row[key], 1e-9)) for row in rows) / len(rows))
        for key in rows[0]
    }


def main() -> None:
    """Read the command line and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--profiles", type=Path, required=True)
    parser.add_argument("--workload", type=Path, required=True, action="append")
    parser.add_argument("--policy", choices=("plimsoll", "sia"), default="plimsoll")
    parser.add_argument("--path", choices=("operator", "library"), default="operator")
    parser.add_argument("--preset", choices=get_args(Preset), default="Completion")
    parser.add_argument("--effort", type=float, default=0.3)
    parser.add_argument("--rates", choices=("given", "none"), default="given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--true-profiles", action="store_true")
    parser.add_argument("--undeclared-work", action="store_true")
    parser.add_argument("--nodes-matter", action="store_true")
    parser.add_argument("--json", action="store_true", help="as all benchmarks print; the default")
    arguments = parser.parse_args()
    of_simulator = arguments.true_profiles or arguments.undeclared_work or arguments.nodes_matter
    if of_simulator and path_of(arguments) == "operator":
        parser.error("--true-profiles, --undeclared-work, --nodes-matter need --path library")
    if not arguments.effort >= 0:
        parser.error("--effort: must be a number of 0 or more")
    if arguments.rates == "none" and path_of(arguments) != "operator":
        parser.error("--rates none needs the operator's path")
    check(arguments)
    found = [rows_of(arguments, workload) for workload in arguments.workload]
    path = {"path": path_of(arguments)}
    if len(found) == 1:
        print_json({**path, **found[0]})
        return
    by_name = {str(path): each for path, each in zip(arguments.workload, found, strict=True)}
    print_json({**path, "workloads": by_name, "geometric_means": geometric_means(found)})


if __name__ == "__main__":
    main()

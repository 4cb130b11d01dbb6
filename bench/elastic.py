"""How soon elastic training jobs finish that share GPUs of several types, compared with Sia's rule.

    python bench/elastic.py --profiles profiles/ --workload workload-1.csv --policy plimsoll --json

The recordings are described in `simulator/plimsoll_simulator/` (`timings.py`, `training.py` and
`recording.py`). Both policies run in the same simulator, decide every 60 s, and know the same: the
ratio of the speeds of one GPU of each type, and what a job's own runs have shown; no job may have
more than twice the GPUs that it has run with. Plimsoll also knows how much work a job declares
(`TrainingJob.spec.work`), unless `--undeclared-work` is given. With `--true-profiles` jobs know
their recorded timings from the beginning. As in Sia's own simulator only GPU type and shape matter;
with `--nodes-matter` each node does, and moving to another one is a restart. Round seconds are CPU
seconds; the seed breaks Sia's ties.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

from plimsoll_bench.elastic.files import applications_checked, check_workload
from plimsoll_bench.elastic.sia import Sia
from plimsoll_bench.output import print_json
from plimsoll_simulator.figures import Figures, figures
from plimsoll_simulator.gpu_pools import Pool
from plimsoll_simulator.nodes_seen import ByNode, ByType
from plimsoll_simulator.planned import Planned
from plimsoll_simulator.recording import applications_in, arrivals_in
from plimsoll_simulator.simulation import Policy, Rules, simulate

POOLS = (Pool("aws", 6, 4), Pool("dgx-ext", 2, 8), Pool("rtx", 3, 8))
"""24 T4, 16 A100 and 24 RTX 2080 Ti: the cluster of Sia's evaluation."""


def check(arguments: argparse.Namespace) -> None:
    """End the program where a file makes no sense."""
    applications = applications_checked(arguments.profiles, [pool.gpu_type for pool in POOLS])
    for workload in arguments.workload:
        check_workload(workload, applications)


def figures_of(arguments: argparse.Namespace, workload: Path) -> Figures:
    """The figures of one workload under the policy."""
    applications = applications_in(arguments.profiles, [pool.gpu_type for pool in POOLS])
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
    return figures(simulate(arrivals_in(workload), applications, POOLS, policy, rules))


def geometric_means(found: Sequence[Figures]) -> dict[str, float]:
    """Over workloads."""
    rows = [asdict(each) for each in found]
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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--true-profiles", action="store_true")
    parser.add_argument("--undeclared-work", action="store_true")
    parser.add_argument("--nodes-matter", action="store_true")
    parser.add_argument("--json", action="store_true", help="as all benchmarks print; the default")
    arguments = parser.parse_args()
    check(arguments)
    found = [figures_of(arguments, workload) for workload in arguments.workload]
    if len(found) == 1:
        print_json(asdict(found[0]))
        return
    by_name = {
        str(path): asdict(each) for path, each in zip(arguments.workload, found, strict=True)
    }
    print_json({"workloads": by_name, "geometric_means": geometric_means(found)})


if __name__ == "__main__":
    main()

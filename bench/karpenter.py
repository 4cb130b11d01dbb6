"""Nodes bought for gangs: by Karpenter for their pending pods, and by Plimsoll for its plan.

    PYTHONPATH=tests python bench/karpenter.py --seed 1 --json

Karpenter itself, with KWOK's cloud, and a real control plane. Gangs of 1 to 8 nodes of 8 GPUs come
one after the other, in random order; a gang runs for `--run` seconds from when all its workers run.
First they are plain pods, which kube-scheduler binds and for which a NodePool buys nodes; then they
are TrainingJobs, and the operator buys through GPUPools. The offers, their prices and quotas, and
how long nodes boot and may be idle are the same (`plimsoll_bench/karpenter/market.py`); the cloud
has fewer of the cheapest than its quota. Karpenter's NodePool is limited to as many nodes as there
are, Plimsoll finds out. Workers of a gang that lack others give up after `--give-up` seconds.

Half bought is a gang of which for over 5 s some workers have nodes and some have not. It fails if
one is by Plimsoll, or if not all gangs run on either side. One JSON object goes to standard output,
progress to standard error.
"""

import argparse
import os
import sys
from dataclasses import asdict
from pathlib import Path

from control_plane import JOBS, ROOT, say
from plimsoll_bench.karpenter.figures import Figures, figures_of
from plimsoll_bench.karpenter.gangs import Gang, drawn_gangs, plain_pods, training_job
from plimsoll_bench.karpenter.market import MOST_NODES, gpu_pools, limits, node_pool
from plimsoll_bench.karpenter.side import PODS, Course, NotAllRanError, Side
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.karpenter.process import NODE_POOLS, Karpenter
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.programs.karpenter_program import KARPENTER
from plimsoll_devcluster.programs.workload_controllers import find_controller
from support.clusters.node_claims import NodeClaims

NAMESPACE = "default"
POOLS = "/apis/plimsoll.dev/v1alpha1/gpupools"
BUYS = {"PLIMSOLL_BUYS_NODES": "true"}
LEAST = {"gangs": 1, "every": 0.1, "run": 1, "boot": 0, "idle": 1, "give_up": 1, "timeout": 1}
"""The least value of each argument that is a number of things or seconds."""


def main() -> None:
    """Run both, print the figures, and end with an error if Plimsoll has half bought a gang."""
    arguments = parsed(sys.argv[1:])
    programs, folder = find_programs(os.environ), find_controller(KARPENTER, os.environ)
    with (
        ControlPlane(programs, service_account_admission=False) as plane,
        Karpenter(folder, plane.kubeconfig) as karpenter,
    ):
        install_crds(plane.api, ROOT / "crds")
        karpenter.start()
        try:
            theirs = by_karpenter(plane.api, karpenter, arguments)
            ours = by_plimsoll(plane, karpenter, arguments)
        except NotAllRanError as error:
            raise SystemExit(str(error)) from error
    report(arguments, ours, theirs)


def parsed(words: list[str]) -> argparse.Namespace:
    """The arguments; what makes no sense ends the program."""
    parser = argparse.ArgumentParser(description="Nodes bought for gangs, by Karpenter and by us.")
    parser.add_argument("--gangs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1, help="their order")
    parser.add_argument("--every", type=float, default=3, help="seconds from gang to gang")
    parser.add_argument("--run", type=int, default=30, help="seconds that a gang runs")
    parser.add_argument("--boot", type=int, default=5, help="seconds until a node registers")
    parser.add_argument("--idle", type=int, default=10, help="seconds until idle nodes go")
    parser.add_argument("--give-up", type=float, default=20, help="seconds that workers wait")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for each side")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--log", type=Path, help="keep the operator's log here")
    arguments = parser.parse_args(words)
    for name, least in LEAST.items():
        if not least <= getattr(arguments, name) < float("inf"):
            raise SystemExit(f"--{name.replace('_', '-')}: must be a number of at least {least}")
    return arguments


def by_karpenter(api: ApiServer, karpenter: Karpenter, arguments: argparse.Namespace) -> Figures:
    """What a NodePool costs that buys for the gangs' pods."""
    prepare(api, karpenter, arguments)
    api.create(NODE_POOLS, node_pool(arguments.idle))

    def submit(gang: Gang, attempt: int) -> None:
        api.create_all(PODS, plain_pods(gang, attempt))

    found = ran(Side("Karpenter", api, course_of(arguments), submit))
    api.delete_all(PODS)
    karpenter.clear()
    return found


def by_plimsoll(
    plane: ControlPlane, karpenter: Karpenter, arguments: argparse.Namespace
) -> Figures:
    """What the operator costs that buys for the gangs as TrainingJobs."""
    api = plane.api
    prepare(api, karpenter, arguments)
    for pool in gpu_pools(arguments.idle, arguments.boot):
        api.create(POOLS, pool)

    def submit(gang: Gang, attempt: int) -> None:
        if attempt == 1:  # The operator itself makes pods anew.
            api.create(JOBS, training_job(gang))

    with OperatorProcess(plane.kubeconfig, BUYS) as operator:
        try:
            return ran(Side("Plimsoll", api, course_of(arguments), submit))
        finally:
            if arguments.log:
                arguments.log.write_text(operator.log.read_text())


def prepare(api: ApiServer, karpenter: Karpenter, arguments: argparse.Namespace) -> None:
    """Make the cloud as scarce, and its nodes as slow, as they are for both."""
    karpenter.limit(*limits())
    NodeClaims(api, NAMESPACE).set_boot_time(arguments.boot)


def course_of(arguments: argparse.Namespace) -> Course:
    """What happens on each side."""
    return Course(
        gangs=drawn_gangs(arguments.gangs, arguments.seed),
        every_seconds=arguments.every,
        run_seconds=arguments.run,
        give_up_seconds=arguments.give_up,
        timeout_seconds=arguments.timeout,
    )


def ran(side: Side) -> Figures:
    """Run a side; its figures."""
    seconds = side.run()
    found = figures_of(side.claims, [*side.books.values()], seconds)
    say(f"{side.name}: {found}")
    return found


def report(arguments: argparse.Namespace, ours: Figures, theirs: Figures) -> None:
    """Print the figures; end with an error if they are no success."""
    course = ("gangs", "seed", "every", "run", "boot", "idle", "give_up")
    figures = {
        **{name: getattr(arguments, name) for name in course},
        "most_nodes": MOST_NODES,
        **asdict(ours),
        **{f"karpenter_{name}": value for name, value in asdict(theirs).items()},
    }
    if arguments.json:
        print_json(figures)
    else:
        for key, value in figures.items():
            print(f"{key:36} {value}")
        require_finite(figures)
    if ours.half_bought_gangs:
        raise SystemExit(f"Plimsoll has half bought {ours.half_bought_gangs} gangs: must be none")


if __name__ == "__main__":
    main()

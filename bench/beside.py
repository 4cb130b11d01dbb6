"""Gangs that come all at once, through Plimsoll.

    python bench/beside.py --gangs 300 --seed 1 --json

Gangs of 1 to 64 GPUs, in random order, ask for several times the GPUs of KWOK nodes of 8, in racks
of 10. A gang works for its seconds from when all its workers run, and would rather be within a
rack. `plimsoll` knows no lengths, `plimsoll_known` is told them by `work`. One JSON object goes to
standard output, progress to standard error.
"""

import argparse
import os
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from control_plane import JOBS, ROOT, say
from plimsoll_bench.beside.course import PODS, Course, NotAllEndedError
from plimsoll_bench.beside.figures import figures_of
from plimsoll_bench.beside.gangs import NODE_GPUS, Gang, drawn_gangs, least_makespan
from plimsoll_bench.beside.ours import training_job
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import RACK, add_nodes, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

RACK_NODES = 10
GONE_SECONDS = 120


def main() -> None:
    """Run all that is asked for, and print the figures."""
    arguments = parsed(sys.argv[1:])
    with ControlPlane(find_programs(os.environ), service_account_admission=False) as plane:
        install_crds(plane.api, ROOT / "crds")
        add_nodes(plane.api, map(node, range(arguments.gang_nodes)))
        try:
            figures = gangs_on_all_sides(plane, arguments)
        except NotAllEndedError as error:
            raise SystemExit(str(error)) from error
    if arguments.json:
        print_json(figures)
    else:
        for key, value in figures.items():
            print(f"{key:20} {value}")
        require_finite(figures)


def parsed(words: list[str]) -> argparse.Namespace:
    """The arguments; what makes no sense ends the program."""
    parser = argparse.ArgumentParser(description="Gangs that come all at once.")
    parser.add_argument("--gangs", type=int, default=300)
    parser.add_argument("--gang-nodes", type=int, default=100, help="nodes of 8 GPUs for them")
    parser.add_argument("--work", type=float, default=30, help="seconds that a gang works")
    parser.add_argument("--vary", action="store_true", help="lengths vary; the mean is --work")
    parser.add_argument("--seed", type=int, default=1, help="their order, and lengths that vary")
    parser.add_argument("--only", nargs="+", choices=("plimsoll", "plimsoll_known"), default=None)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each phase")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--log", type=Path, help="keep the operator's log here")
    return parser.parse_args(words)


def node(index: int) -> dict[str, Any]:
    """A node in its rack."""
    rack = f"rack-{index // RACK_NODES}"
    return fake_node(f"n{index}", H100, NODE_GPUS, labels={RACK: rack})


def gangs_on_all_sides(plane: ControlPlane, arguments: argparse.Namespace) -> dict[str, Any]:
    """What becomes of the same gangs on each side."""
    gangs = drawn_gangs(
        arguments.gangs, arguments.seed, seconds=arguments.work, vary=arguments.vary
    )
    gpus = arguments.gang_nodes * NODE_GPUS
    figures: dict[str, Any] = {
        "gangs": len(gangs),
        "gpus": gpus,
        "demand_percent": round(100 * sum(gang.gpus for gang in gangs) / gpus),
        "vary": arguments.vary,
        "seed": arguments.seed,
        "least_makespan_s": round(least_makespan(gangs, gpus), 1),
    }
    for side in arguments.only or ("plimsoll", "plimsoll_known"):
        say(f"{side}: {len(gangs)} gangs")
        with OperatorProcess(plane.kubeconfig) as operator:
            try:
                figures[side] = gangs_run(plane.api, gangs, gpus, side, arguments.timeout)
            finally:
                if arguments.log:
                    log = arguments.log.with_suffix(f".{side}{arguments.log.suffix}")
                    log.write_text(operator.log.read_text())
        say(f"{side}: {figures[side]}")
    return figures


def gangs_run(
    api: ApiServer, gangs: list[Gang], gpus: int, side: str, timeout: float
) -> dict[str, Any]:
    """Have the gangs run through Plimsoll; the figures."""
    known = side == "plimsoll_known"

    def submit(gang: Gang) -> object:
        return api.create(JOBS, training_job(gang, known=known))

    course = Course(api, gangs, submit, timeout)
    began = course.run()
    found = asdict(figures_of(gangs, course.books, began, gpus))
    api.delete_all(JOBS)
    wait_until(partial(are_gone, api), timeout_seconds=GONE_SECONDS, what="jobs and pods are gone")
    return found


def are_gone(api: ApiServer) -> bool:
    """Whether there are no jobs and no pods."""
    return not api.items(f"{JOBS}?limit=1") and not api.items(f"{PODS}?limit=1")


if __name__ == "__main__":
    main()

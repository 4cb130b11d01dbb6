"""The same jobs and gangs through Plimsoll and through Kueue, on one control plane in one run.

    python bench/beside.py --jobs 4000 --nodes 500 --kueue --json
    python bench/beside.py --gangs 300 --seed 1 --kueue --json

Jobs have one GPU and are applied at once; among them is one that cannot fit. Gangs of 1 to 64 GPUs
come at once, in random order, and ask for several times the GPUs of 100 nodes in racks of 10; one
works for its seconds from when all its workers run, and would rather be within a rack. Plimsoll
gets TrainingJobs, Kueue suspended Jobs: `kueue` counts GPUs and leaves nodes to kube-scheduler, as
is its default, `kueue_packed` finds nodes too. `plimsoll` knows no lengths, nor does Kueue;
`plimsoll_known` is told them by `work`.

`--kueue FOLDER` is what `python -m plimsoll_devcluster kueue` prints; without FOLDER it is found or
built, and without the option there is only Plimsoll. One JSON object goes to standard output,
progress to standard error.
"""

import argparse
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from control_plane import ROOT, say
from plimsoll_bench.beside.course import Course, NotAllEndedError
from plimsoll_bench.beside.figures import figures_of
from plimsoll_bench.beside.gangs import NODE_GPUS, Gang, drawn_gangs, least_makespan
from plimsoll_bench.beside.jobs import jobs_run
from plimsoll_bench.beside.sides import (
    KNOWN,
    KUEUE,
    KUEUE_PACKED,
    PLIMSOLL,
    CpuTime,
    Side,
    open_side,
)
from plimsoll_bench.output import print_json, require_finite
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import RACK, add_nodes, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.programs import kueue_program
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.programs.workload_controllers import CRDS, find_controller

JOBS, GANGS = 4000, 300
JOB_SIDES, GANG_SIDES = (PLIMSOLL, KUEUE), (PLIMSOLL, KNOWN, KUEUE, KUEUE_PACKED)
THEIRS = frozenset({KUEUE, KUEUE_PACKED})
RACK_NODES = 10
FOUND = Path()
"""Stands for a Kueue that is to be found or built."""
LEAST = {"jobs": 0, "nodes": 1, "gangs": 0, "gang_nodes": 8, "work": 0.5, "timeout": 1}
"""The least value of each argument that is a number."""


def main() -> None:
    """Run all that is asked for, and print the figures."""
    arguments = parsed(sys.argv[1:])
    if arguments.kueue == FOUND:
        arguments.kueue = find_controller(kueue_program.KUEUE, os.environ)
    figures: dict[str, Any] = {}
    try:
        if arguments.jobs:
            figures["jobs"] = jobs_on_all_sides(arguments)
        if arguments.gangs:
            figures["gangs"] = gangs_on_all_sides(arguments)
    except NotAllEndedError as error:
        raise SystemExit(str(error)) from error
    if arguments.json:
        print_json(figures)
    else:
        for part in figures.values():
            for key, value in part.items():
                print(f"{key:20} {value}")
        require_finite(figures)


def parsed(words: list[str]) -> argparse.Namespace:
    """The arguments; what makes no sense ends the program.

    Asked for jobs or gangs only, it leaves out the other.
    """
    parser = argparse.ArgumentParser(description="Jobs and gangs, by Kueue and by us.")
    parser.add_argument("--jobs", type=int, help=f"of one GPU: {JOBS}, or none with --gangs")
    parser.add_argument("--nodes", type=int, default=500, help="nodes of 8 GPUs for the jobs")
    parser.add_argument("--gangs", type=int, help=f"{GANGS}, or none with --jobs")
    parser.add_argument("--gang-nodes", type=int, default=100, help="nodes of 8 GPUs for them")
    parser.add_argument("--work", type=float, default=30, help="seconds that a gang works")
    parser.add_argument("--vary", action="store_true", help="lengths vary; the mean is --work")
    parser.add_argument("--seed", type=int, default=1, help="their order, and lengths that vary")
    parser.add_argument(
        "--kueue", type=Path, nargs="?", const=FOUND, metavar="FOLDER", help="compare with Kueue"
    )
    parser.add_argument("--only", nargs="+", choices=GANG_SIDES, help="only these, in this order")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each side")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--log", type=Path, help="keep the logs of both beside this")
    arguments = parser.parse_args(words)
    neither = arguments.jobs is None and arguments.gangs is None
    arguments.jobs = (JOBS if neither else 0) if arguments.jobs is None else arguments.jobs
    arguments.gangs = (GANGS if neither else 0) if arguments.gangs is None else arguments.gangs
    for name, least in LEAST.items():
        if not least <= getattr(arguments, name) < float("inf"):
            raise SystemExit(f"--{name.replace('_', '-')}: must be a number of at least {least}")
    if arguments.kueue not in (None, FOUND) and not (arguments.kueue / CRDS).is_dir():
        raise SystemExit(f"--kueue: {arguments.kueue} is no folder that `make kueue` prints")
    if arguments.kueue is None and {*(arguments.only or ())} & THEIRS:
        raise SystemExit("--only: kueue needs --kueue")
    if arguments.jobs > arguments.nodes * NODE_GPUS:
        raise SystemExit(f"--jobs: must be at most {arguments.nodes * NODE_GPUS}, a GPU each")
    return arguments


def sides_of(arguments: argparse.Namespace, these: Iterable[str]) -> list[str]:
    """Those of these that are asked for, in the order asked for."""
    possible = [side for side in these if arguments.kueue is not None or side not in THEIRS]
    return [side for side in arguments.only or possible if side in possible]


def jobs_on_all_sides(arguments: argparse.Namespace) -> dict[str, Any]:
    """What becomes of the same jobs on each side."""
    nodes, started = arguments.nodes, {"kueue": arguments.kueue, "log": arguments.log}
    figures: dict[str, Any] = {"jobs": arguments.jobs, "nodes": nodes}
    names = sides_of(arguments, JOB_SIDES)
    with cluster(nodes) as plane:
        for name in names:
            say(f"{name}: {arguments.jobs} jobs")
            with open_side(name, plane, nodes, **started) as side:
                found = jobs_run(
                    plane,
                    side,
                    nodes=nodes,
                    jobs=arguments.jobs,
                    timeout_seconds=arguments.timeout,
                )
                figures[name] = asdict(found)
                say(f"{name}: {found}")
                if name != names[-1]:
                    side.clear()
    return figures


def gangs_on_all_sides(arguments: argparse.Namespace) -> dict[str, Any]:
    """What becomes of the same gangs on each side."""
    gangs = drawn_gangs(
        arguments.gangs, arguments.seed, seconds=arguments.work, vary=arguments.vary
    )
    nodes, started = arguments.gang_nodes, {"kueue": arguments.kueue, "log": arguments.log}
    gpus = nodes * NODE_GPUS
    figures: dict[str, Any] = {
        "gangs": len(gangs),
        "gpus": gpus,
        "demand_percent": round(100 * sum(gang.gpus for gang in gangs) / gpus),
        "vary": arguments.vary,
        "seed": arguments.seed,
        "least_makespan_s": round(least_makespan(gangs, gpus), 1),
    }
    with cluster(nodes) as plane:
        for name in sides_of(arguments, GANG_SIDES):
            say(f"{name}: {len(gangs)} gangs")
            with open_side(name, plane, nodes, **started) as side:
                figures[name] = gangs_run(plane, side, gangs, arguments)
                say(f"{name}: {figures[name]}")
    return figures


def gangs_run(
    plane: ControlPlane, side: Side, gangs: list[Gang], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Have the gangs run on one side; the figures."""
    used = CpuTime(plane, side)
    course = Course(side.api, gangs, side.submit, arguments.timeout)
    began = course.run()
    found = figures_of(gangs, course.books, began, arguments.gang_nodes * NODE_GPUS)
    cpu = used.seconds()
    side.clear()
    return {**asdict(found), "cpu_s": cpu}


@contextmanager
def cluster(nodes: int) -> Generator[ControlPlane]:
    """A control plane that notes every write, with nodes in racks."""
    programs = find_programs(os.environ)
    with ControlPlane(programs, service_account_admission=False, audit=True) as plane:
        install_crds(plane.api, ROOT / "crds")
        say(f"{nodes} nodes")
        add_nodes(plane.api, map(node, range(nodes)))
        yield plane


def node(index: int) -> Manifest:
    """A node in its rack."""
    return fake_node(f"n{index}", H100, NODE_GPUS, labels={RACK: f"rack-{index // RACK_NODES}"})


if __name__ == "__main__":
    main()

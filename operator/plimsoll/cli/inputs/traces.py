"""The input of `plimsoll simulate-trace`: what happens on the twin, from files."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import get_args

from plimsoll.api.placement_policy import Preset
from plimsoll.cli.inputs.given import given
from plimsoll.errors import BadInput
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS, Pool
from plimsoll_simulator.recorded.recording import Application, Arrival, applications_in, arrivals_in
from plimsoll_simulator.recorded.submission import setting, submissions
from plimsoll_simulator.trace.jobs import traced_jobs
from plimsoll_simulator.trace.node_events import node_events
from plimsoll_simulator.trace.requests import requests
from plimsoll_simulator.trace.trace import Trace, trace
from plimsoll_simulator.twin import BEGINS


def given_trace(options: argparse.Namespace) -> Trace:
    """What the options say. Raises BadInput."""
    if options.preset is not None and options.preset not in get_args(Preset):
        raise BadInput([f"--preset: must be one of {', '.join(get_args(Preset))}"])
    is_profiled = options.profiles is not None
    if is_profiled != (options.workload is not None):
        raise BadInput(["--profiles and --workload need each other: give both"])
    found = _profiled(options) if is_profiled else _traced(options)
    if not found.jobs + found.services:
        raise BadInput(["there is no job to simulate: add some with --jobs, -f or --requests"])
    return found


def _traced(options: argparse.Namespace) -> Trace:
    if options.pool:
        raise BadInput(["--pool: goes with --profiles: give nodes with --cluster"])
    objects = given(options, options.filename).after.objects
    jobs = () if options.jobs is None else traced_jobs(options.jobs)
    events = () if options.node_events is None else node_events(options.node_events)
    loads = () if options.requests is None else requests(options.requests)
    found = trace(objects, jobs, events, loads, preset=options.preset)
    for name, why in found.left_out.items():
        sys.stderr.write(f"plimsoll: left out: {name}: {why}\n")
    return found


def _profiled(options: argparse.Namespace) -> Trace:
    others = ("cluster", "snapshot", "filename", "jobs", "node_events", "requests")
    for name in others:
        if getattr(options, name):
            option = name.replace("_", "-")
            raise BadInput([f"--{option}: excludes --profiles: omit one of them"])
    pools = [Pool(*pool) for pool in options.pool or ()] or SIA_POOLS
    if len({pool.gpu_type for pool in pools}) < len(pools):
        raise BadInput(["--pool: give each GPU type only once"])
    applications, arrivals = _recorded(options.profiles, options.workload, pools)
    if not arrivals:
        raise BadInput([f"{options.workload}: has no jobs: add at least one"])
    policy = options.preset or "Completion"
    events = chain(setting(pools, policy), submissions(arrivals, applications, pools))
    return Trace(BEGINS, [*events], (), len(arrivals))


def _recorded(
    profiles: Path, workload: Path, pools: Sequence[Pool]
) -> tuple[Mapping[str, Application], Sequence[Arrival]]:
    try:
        applications = applications_in(profiles, [pool.gpu_type for pool in pools])
        arrivals = arrivals_in(workload)
    except OSError as error:
        raise BadInput([f"{error.filename}: {error.strerror}"]) from error
    except (KeyError, ValueError) as error:
        format_page = "docs/benchmarks/elastic-training.md"
        raise BadInput(
            [f"{profiles} or {workload}: not in the format that {format_page} describes: {error}"]
        ) from error
    unknown = sorted({arrival.application for arrival in arrivals} - set(applications))
    if unknown:
        raise BadInput([f"{profiles}: has no profile of {name}" for name in unknown])
    return applications, arrivals

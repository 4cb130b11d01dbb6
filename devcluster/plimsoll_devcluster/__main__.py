"""The command line: `python -m plimsoll_devcluster up`, or what a test would build otherwise."""

import argparse
import os
import signal
import sys

from plimsoll_devcluster.cluster import open_cluster
from plimsoll_devcluster.processes.ending import end_on_signals
from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.axe_script import NoAxeError, find_axe
from plimsoll_devcluster.programs.chromium_program import NoChromiumError, find_chromium
from plimsoll_devcluster.programs.control_plane_programs import NoProgramsError, find_programs
from plimsoll_devcluster.programs.karpenter_program import KARPENTER
from plimsoll_devcluster.programs.keda_program import KEDA, KEDA_ADAPTER
from plimsoll_devcluster.programs.kueue_program import KUEUE
from plimsoll_devcluster.programs.prometheus_program import (
    NoPrometheusError,
    find_prometheus,
    find_promtool,
)
from plimsoll_devcluster.programs.workload_controllers import (
    ALL,
    NoWorkloadControllerError,
    find_controller,
)

NOT_FOUND = (
    NoAxeError,
    NoChromiumError,
    NoProgramsError,
    NoPrometheusError,
    NoWorkloadControllerError,
)


def main() -> int:
    """Run the requested command and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m plimsoll_devcluster", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("programs", help="print the folder of the control plane's programs")
    commands.add_parser("prometheus", help="print the paths of Prometheus and promtool")
    commands.add_parser("browser", help="print the paths of Chromium and of axe-core")
    commands.add_parser("workload-controllers", help="print the folders of other controllers")
    commands.add_parser("karpenter", help="print the folder of Karpenter")
    commands.add_parser("keda", help="print the folders of KEDA's programs")
    commands.add_parser("kueue", help="print the folder of Kueue")
    commands.add_parser("up", help="run a control plane until Ctrl-C")
    command = parser.parse_args().command
    try:
        found = {
            "programs": _print_programs,
            "prometheus": _print_prometheus,
            "browser": _print_browser,
            "workload-controllers": _print_workload_controllers,
            "karpenter": _print_karpenter,
            "keda": _print_keda,
            "kueue": _print_kueue,
            "up": _stay_up,
        }
        return found[command]()
    except NOT_FOUND as error:
        announce(str(error))
        return 1


def _print_programs() -> int:
    sys.stdout.write(f"{find_programs(os.environ)}\n")
    return 0


def _print_prometheus() -> int:
    sys.stdout.write(f"{find_prometheus(os.environ)}\n{find_promtool(os.environ)}\n")
    return 0


def _print_browser() -> int:
    sys.stdout.write(f"{find_chromium(os.environ)}\n{find_axe(os.environ)}\n")
    return 0


def _print_workload_controllers() -> int:
    for program in ALL:
        sys.stdout.write(f"{find_controller(program, os.environ)}\n")
    return 0


def _print_karpenter() -> int:
    sys.stdout.write(f"{find_controller(KARPENTER, os.environ)}\n")
    return 0


def _print_keda() -> int:
    for program in (KEDA, KEDA_ADAPTER):
        sys.stdout.write(f"{find_controller(program, os.environ)}\n")
    return 0


def _print_kueue() -> int:
    sys.stdout.write(f"{find_controller(KUEUE, os.environ)}\n")
    return 0


def _stay_up() -> int:
    with end_on_signals(), open_cluster(os.environ) as cluster:
        sys.stdout.write(f"export KUBECONFIG={cluster.kubeconfig}\n")
        sys.stdout.flush()
        announce("the control plane is up; Ctrl-C ends it")
        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())

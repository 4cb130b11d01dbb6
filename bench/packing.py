"""How full a cluster gets when pods come one by one, nobody leaves and nobody waits.

    python bench/packing.py --nodes nodes.csv --pods pods.csv.gz --seed 42 --policy plimsoll

The lists are described in `packing_lists.py`. Without `--arrivals` the pods come shuffled by the
seed and more are drawn until 130 % of all GPUs are asked for; without `--node-order` the seed
shuffles the nodes, the first of which is taken where a policy finds several equally good.
`seconds` are CPU seconds of the policy and the replay, without reading files.

With `--power` what the nodes draw is printed, too, and `plimsoll` packs so as to draw little.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from packing_lists import (
    drawn_arrivals,
    hosts_in,
    in_recorded_order,
    pods_in,
    recorded_arrivals,
)
from packing_policies import POLICIES, Scene, frugal_policy
from packing_watts import meter_of

from plimsoll_placement.packing.cluster import Cluster, Host
from plimsoll_placement.packing.pods import PodKind
from plimsoll_placement.packing.power import watts_over_time
from plimsoll_placement.packing.replay import Replay, replay

DRAWN_AT = (20, 40, 60, 80)


@dataclass(frozen=True, slots=True)
class Case:
    """Nodes in the order that breaks ties, the list that pods are drawn from, and the arrivals."""

    hosts: tuple[Host, ...]
    known: tuple[PodKind, ...]
    arrivals: tuple[PodKind, ...]


def case(arguments: argparse.Namespace) -> Case:
    """What the arguments say is to be packed."""
    random = Random(arguments.seed)
    hosts = hosts_in(arguments.nodes)
    by_name = pods_in(arguments.pods)
    known = tuple(by_name.values())
    if arguments.node_order:
        ordered = in_recorded_order(arguments.node_order, hosts)
    else:
        ordered = tuple(random.sample(hosts, len(hosts)))
    if arguments.arrivals:
        return Case(ordered, known, recorded_arrivals(arguments.arrivals, by_name))
    gpus = sum(host.gpus for host in hosts)
    return Case(ordered, known, tuple(drawn_arrivals(known, gpus, random)))


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints."""
    packed = case(arguments)
    cluster = Cluster(packed.hosts)
    scene = Scene(cluster, packed.known, Random(arguments.seed))
    started = time.process_time()
    frugal = arguments.power and arguments.policy == "plimsoll"
    policy = frugal_policy(scene) if frugal else POLICIES[arguments.policy](scene)
    replayed = replay(cluster, policy, packed.arrivals)
    seconds = time.process_time() - started
    found: dict[str, object] = {
        "policy": arguments.policy,
        "seed": arguments.seed,
        "arrivals": len(packed.arrivals),
        "rejected": replayed.rejected,
        "allocated_percent_at_130": replayed.allocated_percent(130),
        "allocated_percent_at_100": replayed.allocated_percent(100),
        "used_gpu_milli": cluster.used_milli,
        "seconds": seconds,
    }
    return found | (power_figures(packed, replayed) if arguments.power else {})


def power_figures(packed: Case, replayed: Replay) -> dict[str, object]:
    """What the cluster drew, and how much of the demand it served when it was nearly full."""
    cluster = Cluster(packed.hosts)
    watts = watts_over_time(cluster, meter_of(cluster), packed.arrivals, replayed.seats)
    kilowatts = {str(percent): replayed.mean_at(percent, watts) / 1000 for percent in DRAWN_AT}
    return {
        "kilowatts_at": kilowatts,
        "served_percent_at_99_5": replayed.served_percent(99.5),
    }


def main() -> None:
    """Read the command line and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=Path, required=True)
    parser.add_argument("--pods", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--policy", choices=POLICIES, default="plimsoll")
    parser.add_argument("--arrivals", type=Path)
    parser.add_argument("--node-order", type=Path)
    parser.add_argument("--power", action="store_true")
    print(json.dumps(figures(parser.parse_args())))


if __name__ == "__main__":
    main()

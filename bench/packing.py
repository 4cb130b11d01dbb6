"""How full a cluster gets when pods come one by one, nobody leaves and nobody waits.

    python bench/packing.py --nodes nodes.csv --pods pods.csv.gz --seed 42 --policy fgd

The lists are described in `packing_lists.py`. Without `--arrivals` the pods come shuffled by the
seed and more are drawn until 130 % of all GPUs are asked for; without `--node-order` the seed
shuffles the nodes, the first of which is taken where a policy finds several equally good.
`seconds` are CPU seconds of the policy and the replay, without reading files.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from packing_lists import (
    drawn_arrivals,
    hosts_in,
    in_recorded_order,
    pods_in,
    recorded_arrivals,
)

from plimsoll_placement.packing.cluster import Cluster
from plimsoll_placement.packing.fgd import FragmentationGradientDescent
from plimsoll_placement.packing.fragmentation import typical_counts
from plimsoll_placement.packing.lookahead import Lookahead
from plimsoll_placement.packing.pods import PodKind
from plimsoll_placement.packing.replay import Policy, replay

MakePolicy = Callable[[Cluster, Sequence[PodKind]], Policy]


def plimsoll(cluster: Cluster, _known: Sequence[PodKind]) -> Policy:
    """Plimsoll's own, which is told nothing and learns from what arrives."""
    return Lookahead(cluster)


def fgd(cluster: Cluster, known: Sequence[PodKind]) -> Policy:
    """FGD, which is told how often each kind of pod is in the list."""
    return FragmentationGradientDescent(cluster, typical_counts(known))


POLICIES: dict[str, MakePolicy] = {"plimsoll": plimsoll, "fgd": fgd}


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints."""
    random = Random(arguments.seed)
    pods = pods_in(arguments.pods)
    hosts = hosts_in(arguments.nodes)
    cluster = Cluster(
        in_recorded_order(arguments.node_order, hosts)
        if arguments.node_order
        else random.sample(hosts, len(hosts))
    )
    arrivals = (
        recorded_arrivals(arguments.arrivals, pods)
        if arguments.arrivals
        else drawn_arrivals(list(pods.values()), int(cluster.gpus.sum()), random)
    )
    started = time.process_time()
    policy = POLICIES[arguments.policy](cluster, list(pods.values()))
    replayed = replay(cluster, policy, arrivals)
    return {
        "policy": arguments.policy,
        "seed": arguments.seed,
        "arrivals": len(arrivals),
        "rejected": replayed.rejected,
        "allocated_percent_at_130": replayed.allocated_percent(130),
        "allocated_percent_at_100": replayed.allocated_percent(100),
        "used_gpu_milli": cluster.used_milli,
        "seconds": time.process_time() - started,
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
    print(json.dumps(figures(parser.parse_args())))


if __name__ == "__main__":
    main()

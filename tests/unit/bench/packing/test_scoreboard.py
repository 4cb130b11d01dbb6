"""What a scoreboard keeps is what it would find if it looked at every node again."""

from random import Random

import pytest

from plimsoll_bench.packing.outcomes import best_of_each, outcomes
from plimsoll_bench.packing.scoreboard import Scoreboard, Scores
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Ints, Placement, States
from support.problems.packing_cases import some_hosts, some_pods


def untidy(states: States) -> Ints:
    """Some value that depends on all of a state."""
    return (states.free**2).sum(axis=1) % 977 + states.cpu % 91 + states.memory


@pytest.mark.parametrize("seed", range(10))
def test_scores_are_right_though_only_changed_nodes_are_looked_at(seed: int) -> None:
    random = Random(seed)
    cluster = Cluster(some_hosts(random) * 20)

    def scores(pod: PodKind, nodes: Ints) -> Scores:
        return best_of_each(outcomes(cluster, nodes, pod).gains(untidy))

    kept = Scoreboard(cluster, scores)
    taken: list[tuple[PodKind, Placement]] = []
    for pod in some_pods(random, 150):
        assignment = kept.best(pod)
        assert assignment == Scoreboard(cluster, scores).best(pod)
        if assignment:
            cluster.take(pod, assignment)
            taken.append((pod, assignment))
        if taken and random.random() < 0.2:
            cluster.give_back(*taken.pop(random.randrange(len(taken))))

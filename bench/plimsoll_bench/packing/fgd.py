"""Fragmentation gradient descent (Weng et al., "Beware of Fragmentation", USENIX ATC'23).

A pod goes where fragmentation grows least. Kept as published, with its coarse scores: the ties
between them, broken by the order of nodes, are part of why it packs well.
"""

from collections.abc import Mapping

import numpy as np

from plimsoll_bench.packing.fragmentation import Fragmentation
from plimsoll_bench.packing.outcomes import best_of_each, outcomes
from plimsoll_bench.packing.scoreboard import Scoreboard, Scores
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Ints, Placement


class FragmentationGradientDescent:
    """The policy for one cluster, given in advance how often each kind of pod comes."""

    def __init__(self, cluster: Cluster, typical: Mapping[PodKind, int]) -> None:
        self._cluster = cluster
        self._fragmentation = Fragmentation(typical, cluster)
        self._board = Scoreboard(cluster, self._scores)

    def place(self, pod: PodKind) -> Placement | None:
        """Where the pod goes; None if it fits nowhere."""
        return self._board.best(pod)

    def _scores(self, pod: PodKind, nodes: Ints) -> Scores:
        growth = outcomes(self._cluster, nodes, pod).gains(self._fragmentation.times_pods)
        gpus_less = -growth / (self._fragmentation.pods * WHOLE_GPU_MILLI)
        coarse = np.floor(100 / (1 + np.exp(-gpus_less)))
        return best_of_each(np.where(growth > -np.inf, coarse, -np.inf))

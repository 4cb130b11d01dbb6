"""Place pods that come one by one where those to come can use most of what is left.

A node is worth what the pods to come will use of it (`plimsoll_placement.state.prospects`), and a
little for idle GPUs being together. A pod goes where that falls least, less the price of the GPU
type (`scarcity.py`). All is learned from the arrivals themselves, anew each time that their number
has grown fivefold, so that old scores are seldom discarded.
"""

from collections import Counter
from collections.abc import Callable

from plimsoll_bench.packing.outcomes import best_of_each, outcomes
from plimsoll_bench.packing.scarcity import NAMED_GPU_MILLI, Scarcity
from plimsoll_bench.packing.scoreboard import Scoreboard, Scores
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Floats, Ints, Placement, States
from plimsoll_placement.state.prospects import Prospects
from plimsoll_placement.state.yardstick import Yardstick, yardstick

FIRST_LESSON = 32
"""How many arrivals are processed at once; prices follow each time, prospects less often."""
LESSON_GROWTH = 5
Cost = Callable[[States], Floats]


class Lookahead:
    """The policy for one cluster. It refuses no pod that fits somewhere.

    `cost` says what else a state of a node costs, in milli-GPUs; `named_gpu_milli` what taking a
    GPU costs if all GPUs of its type will be asked for by name.
    """

    def __init__(
        self, cluster: Cluster, cost: Cost | None = None, *, named_gpu_milli: int = NAMED_GPU_MILLI
    ) -> None:
        self._cluster = cluster
        self._cost = cost
        self._board = Scoreboard(cluster, self._scores)
        self._scarcity = Scarcity(cluster, named_gpu_milli)
        self._unread: list[PodKind] = []
        self._arrivals: Counter[PodKind] = Counter()
        self._next_lesson = FIRST_LESSON
        self._prospects = Prospects(self._arrivals, Yardstick())

    def place(self, pod: PodKind) -> Placement | None:
        """Where this pod, which arrives now, goes; None if it fits nowhere."""
        self.saw(pod)
        return self.best_placement(pod)

    def saw(self, pod: PodKind) -> None:
        """Count a pod that arrived, and now and then learn from all of them."""
        self._unread.append(pod)
        if len(self._unread) == FIRST_LESSON:
            self._learn()

    def best_placement(self, pod: PodKind) -> Placement | None:
        """The best place as things are; None if the pod fits nowhere."""
        return self._board.best(pod, self._prices(pod))

    def benefit_milli(self, pod: PodKind) -> float:
        """What the pod would use in its best place, less what others could then no longer use.

        -inf if it fits nowhere.
        """
        return pod.total_gpu_milli + self._board.highest(pod, self._prices(pod))

    def _prices(self, pod: PodKind) -> Floats | None:
        if not pod.gpus or not self._scarcity.known:
            return None
        return self._scarcity.prices * pod.total_gpu_milli

    def _learn(self) -> None:
        self._arrivals.update(self._unread)
        self._scarcity.saw(self._unread)
        self._unread.clear()
        if self._arrivals.total() >= self._next_lesson:
            self._next_lesson *= LESSON_GROWTH
            scarcer = self._yardstick()
            self._prospects = Prospects(self._arrivals, scarcer)
            self._board.forget()

    def _yardstick(self) -> Yardstick:
        hosts = self._cluster.hosts
        return yardstick(
            self._arrivals,
            cpu_millis=sum(host.cpu_millis for host in hosts),
            memory_mib=sum(host.memory_mib for host in hosts),
        )

    def _scores(self, pod: PodKind, nodes: Ints) -> Scores:
        return best_of_each(outcomes(self._cluster, nodes, pod).gains(self._worth))

    def _worth(self, states: States) -> Floats:
        worth = self._prospects.worth(states)
        return worth - self._cost(states) if self._cost else worth

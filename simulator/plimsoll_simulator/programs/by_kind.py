"""What runs in a pod, by the kind of the job that it belongs to."""

from collections.abc import Mapping

from plimsoll.observe.labels import JOB_KIND
from plimsoll_simulator.cluster.kubelets import Programs
from plimsoll_simulator.cluster.patches import Raw


class ByKind:
    """The programs of several kinds of jobs, and what runs in pods of none."""

    def __init__(self, programs: Mapping[str, Programs], others: Programs) -> None:
        self._programs, self._others = programs, others

    def start_seconds(self, pod: Raw) -> float:
        """How long a pod that is bound takes until it is ready."""
        return self._of(pod).start_seconds(pod)

    def started(self, pod: Raw) -> None:
        """A pod is ready."""
        self._of(pod).started(pod)

    def stop_seconds(self, pod: Raw) -> float:
        """How long a pod would take to end once it is told to."""
        return self._of(pod).stop_seconds(pod)

    def stopped(self, pod: Raw) -> None:
        """A pod has ended, whatever ended it."""
        self._of(pod).stopped(pod)

    def _of(self, pod: Raw) -> Programs:
        kind = pod["metadata"].get("labels", {}).get(JOB_KIND, "")
        return self._programs.get(kind, self._others)

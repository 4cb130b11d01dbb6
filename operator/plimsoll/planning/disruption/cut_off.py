"""Gangs that may still run where nobody can see it: they wait until it is known that they do not.

A node that does not answer may have failed, or be cut off from the control plane alone. Its workers
may go on, and write checkpoints beside those of the gang that takes their place. So a gang has no
place until its workers are gone, as a StatefulSet's pod has no successor. Meanwhile others have the
GPUs that it would wait on.
"""

from collections.abc import Set as AbstractSet

from plimsoll.observe.nodes.notices import OUT_OF_SERVICE_TAINT, is_shut_down, is_silent
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.telemetry import Reason


def cut_off_nodes(snapshot: Snapshot) -> frozenset[str]:
    """The nodes that have not answered for so long that they are given up, and may yet run pods."""
    return frozenset(
        view.name
        for view in snapshot.nodes
        if not view.state.usable and is_silent(view.node) and not is_shut_down(view.node)
    )


def may_still_run(view: JobView, cut_off: AbstractSet[str]) -> Hold | None:
    """Why a gang must wait of which a worker is on a node that is cut off."""
    if not cut_off or view.training is None:
        return None
    for pod in view.pods:
        if pod.node in cut_off and not pod.is_over:
            text = (
                f"{pod.name} may still run on {pod.node}, which does not answer, and write"
                f" checkpoints; the job starts elsewhere once {pod.node} answers, its Node is"
                f" deleted, or it has the taint {OUT_OF_SERVICE_TAINT}"
            )
            return Hold(view.name, Reason.NODE_UNREACHABLE, text, inadmissible=True)
    return None

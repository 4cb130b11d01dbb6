"""Hold back gangs that may still be running unseen, until it is certain that they are not.

A node that does not respond may have failed, or may only be cut off from the control plane. Its
workers may go on, and write checkpoints next to those of the gang that replaces them. So a gang
gets no placement until its workers are gone, just as a StatefulSet's pod gets no successor.
Meanwhile others get the GPUs that it would wait on.
"""

from collections.abc import Set as AbstractSet

from plimsoll.observe.nodes.notices import OUT_OF_SERVICE_TAINT, is_shut_down, is_silent
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.vocabulary.reasons import Reason


def cut_off_nodes(snapshot: Snapshot) -> frozenset[str]:
    """The nodes silent for so long that they are given up, but which may still run pods."""
    return frozenset(
        view.name
        for view in snapshot.nodes
        if not view.state.usable and is_silent(view.node) and not is_shut_down(view.node)
    )


def may_still_run(view: JobView, cut_off: AbstractSet[str]) -> Hold | None:
    """Why a gang with a worker on a node that is cut off must wait."""
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

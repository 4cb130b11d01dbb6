from typing import Any

import pytest

from plimsoll_console.access.rights import ALL, Rights
from plimsoll_console.views.sight import Sight
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_pool, a_queue, a_training_job

OURS = Rights(places=frozenset({("TrainingJob", "team")}))


def namespaced(name: str, namespace: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - a job's
    job = a_training_job(name, **spec)
    job["metadata"]["namespace"] = namespace
    return job


def a_sight(rights: Rights) -> Sight:
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in "ab"]
    return Sight(
        seen(
            *spaces,
            fake_node("n-0"),
            fake_node("n-1"),
            a_queue("research"),
            a_queue("secret"),
            a_pool("h100", {"type": "kwok"}),
            at(a_training_job("ours", queue="research"), "n-0"),
            namespaced("theirs", "b"),
        ),
        rights,
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "makes room for TrainingJob/b/theirs (priority 5)",
            "makes room for another job (priority 5)",
        ),
        (
            "waits behind InferenceJob/gone/x, TrainingJob/team/ours",
            "waits behind another job, TrainingJob/team/ours",
        ),
        (
            "would violate PodDisruptionBudgets b/web",
            "would violate PodDisruptionBudgets an object of another namespace",
        ),
        ("n-1 is kept free; runs on n-0", "another node is kept free; runs on n-0"),
        ("queue research lends to queue secret.", "queue research lends to queue another queue"),
        ("1 node of GPUPool h100: 3/4 workers", "1 node of GPUPool another pool: 3/4 workers"),
        ("HTTP/1.1 and https://example.com/a/b stay", "HTTP/1.1 and https://example.com/a/b stay"),
    ],
    ids=["a job", "a job that is gone", "a budget", "a node", "a queue", "a pool", "no name"],
)
def test_names_that_may_not_be_seen_are_taken_out_of_sentences(text: str, shown: str) -> None:
    assert a_sight(OURS).text(text).rstrip(".") == shown
    assert a_sight(ALL).text(text) == text


def test_what_stands_for_a_name_is_the_same_each_time_and_cannot_be_guessed() -> None:
    snapshot = a_sight(OURS).snapshot
    one, other = Sight(snapshot, OURS, b"one"), Sight(snapshot, ALL, b"other")
    assert one.opaque("node", "n-0") == Sight(snapshot, ALL, b"one").opaque("node", "n-0")
    assert (
        len({one.opaque("node", "n-0"), other.opaque("node", "n-0"), one.opaque("group", "n-0")})
        == 3
    )

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.job_queue import JobQueue
from plimsoll.planning.quota.shares import fair_shares, guaranteed, limits
from plimsoll_devcluster.gpu_models import A100, H100
from support.objects.job_manifests import a_queue

EIGHT = {H100: 8000}


def queues(*manifests: dict[str, object]) -> list[JobQueue]:
    return [JobQueue.model_validate(manifest) for manifest in manifests]


def of_h100(shares: dict[str, dict[str, int]]) -> dict[str, int]:
    return {name: by_type[H100] for name, by_type in shares.items()}


def test_what_is_nobodys_own_is_shared_out_by_weight() -> None:
    both = queues(a_queue("one", weight=1), a_queue("three", weight=3))
    shares = fair_shares(both, EIGHT, {H100: {"one", "three"}})
    assert of_h100(shares) == {"one": 2000, "three": 6000}


def test_a_guarantee_comes_first_and_its_owner_gets_of_the_rest_too() -> None:
    both = queues(a_queue("owner", guaranteed=4), a_queue("guest"))
    shares = fair_shares(both, EIGHT, {H100: {"owner", "guest"}})
    assert of_h100(shares) == {"owner": 6000, "guest": 2000}


def test_who_asks_for_nothing_leaves_its_share_to_the_others() -> None:
    both = queues(a_queue("busy"), a_queue("idle", guaranteed=4))
    assert of_h100(fair_shares(both, EIGHT, {H100: {"busy"}})) == {"busy": 8000}


def test_a_parents_share_is_shared_out_to_its_parts() -> None:
    tree = queues(
        a_queue("division", weight=3),
        a_queue("vision", parent="division"),
        a_queue("speech", parent="division", weight=2),
        a_queue("other"),
    )
    shares = fair_shares(tree, EIGHT, {H100: {"division", "vision", "speech", "other"}})
    assert of_h100(shares) == {"division": 6000, "vision": 2000, "speech": 4000, "other": 2000}


def test_a_parent_that_is_not_there_is_none() -> None:
    lone = queues(a_queue("lone", parent="nowhere"))
    assert of_h100(fair_shares(lone, EIGHT, {H100: {"lone"}})) == {"lone": 8000}


def test_quotas_are_in_thousandths_and_a_missing_limit_is_no_limit() -> None:
    queue = queues(a_queue("q", guaranteed=2))[0]
    assert guaranteed(queue) == {H100: 2000}
    assert limits(queue) == {}
    assert limits(queues(a_queue("q", gpu_type=A100, limit=0))[0]) == {A100: 0}


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), min_size=1, max_size=6),
    st.integers(0, 64),
)
def test_never_more_is_shared_out_than_is_there_or_guaranteed(
    terms: list[tuple[int, int]], gpus: int
) -> None:
    known = queues(
        *(a_queue(f"q{i}", weight=w, guaranteed=own) for i, (w, own) in enumerate(terms))
    )
    names = {queue.metadata.name for queue in known}
    shares = of_h100(fair_shares(known, {H100: gpus * 1000}, {H100: names}))
    owned = 1000 * sum(own for _, own in terms)
    assert sum(shares.values()) <= max(gpus * 1000, owned)
    assert all(shares[f"q{i}"] >= 1000 * own for i, (_, own) in enumerate(terms))


def test_a_tree_may_be_deeper_than_calls_can_be() -> None:
    names = [f"q{n}" for n in range(2000)]
    deep = queues(a_queue(names[0]), *(a_queue(b, parent=a) for a, b in pairwise(names)))
    shares = of_h100(fair_shares(deep, EIGHT, {H100: {*names}}))
    assert [*shares.values()] == [8000] * len(names)

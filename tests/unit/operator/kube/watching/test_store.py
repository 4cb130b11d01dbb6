from collections.abc import Callable

import pytest

from plimsoll.errors import Gone
from plimsoll.kube.objects.objects import ObjectMeta, Pod, PodSpec
from plimsoll.kube.watching.store import Key, Store


def a_pod(name: str = "p", *, version: int, node: str = "") -> Pod:
    meta = ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", resource_version=str(version))
    return Pod(metadata=meta, spec=PodSpec(node_name=node))


def a_store(
    *pods: Pod, version: int = 10, keep: Callable[[Pod], Pod | None] = lambda pod: pod
) -> Store[Pod]:
    store = Store[Pod](keep)
    store.listed(pods, version)
    return store


KEY = Key("ns", "p")


def test_a_list_is_what_there_is() -> None:
    store = a_store(a_pod("a", version=3), a_pod("b", version=4))
    store.listed([a_pod("b", version=4)], 20)
    assert set(store.objects) == {Key("ns", "b")}


def test_what_is_listed_as_it_was_stays_the_same_object() -> None:
    store = a_store(a_pod("a", version=3), a_pod("b", version=4))
    before = dict(store.objects)
    store.listed([a_pod("a", version=3), a_pod("b", version=11)], 20)
    assert store.objects[Key("ns", "a")] is before[Key("ns", "a")]
    assert store.objects[Key("ns", "b")].metadata.resource_version == "11"


def test_the_watch_adds_changes_and_removes() -> None:
    store = a_store()
    assert store.received(a_pod(version=11))
    assert store.received(a_pod(version=12, node="n"))
    assert store.objects[KEY].spec.node_name == "n"
    assert store.deleted(a_pod(version=13).metadata)
    assert not store.objects


def test_a_change_of_nothing_but_the_version_is_taken_but_is_no_change() -> None:
    store = a_store(a_pod(version=3))
    assert not store.received(a_pod(version=11))
    assert store.objects[KEY].metadata.resource_version == "11"


def test_what_we_wrote_is_seen_before_the_watch_reports_it() -> None:
    store = a_store()
    assert store.wrote(a_pod(version=11))
    assert KEY in store.objects
    assert not store.received(a_pod(version=11))


def test_an_older_event_does_not_undo_what_we_wrote() -> None:
    store = a_store(a_pod(version=3))
    store.wrote(a_pod(version=15, node="n"))
    assert not store.received(a_pod(version=12))
    assert store.objects[KEY].spec.node_name == "n"


def test_the_end_of_a_namesake_does_not_remove_what_we_created_after_it() -> None:
    store = a_store(a_pod(version=3))
    store.wrote(a_pod(version=15))
    assert not store.deleted(a_pod(version=12).metadata)
    assert KEY in store.objects


def test_a_late_answer_does_not_bring_back_what_is_deleted() -> None:
    store = a_store()
    store.received(a_pod(version=11))
    store.deleted(a_pod(version=13).metadata)
    assert not store.wrote(a_pod(version=12))
    assert not store.objects


def test_a_list_that_was_made_before_we_wrote_does_not_hide_it() -> None:
    store = a_store(version=10)
    store.wrote(a_pod(version=30))
    store.listed([], 20)
    assert KEY in store.objects
    store.listed([], 40)
    assert not store.objects


def test_what_only_the_watch_reported_does_not_survive_an_older_history() -> None:
    store = a_store(version=10)
    store.received(a_pod(version=30))
    store.listed([], 5)
    assert not store.objects


def test_a_watch_that_goes_back_is_another_history() -> None:
    store = a_store(version=10)
    with pytest.raises(Gone):
        store.moved_to(9)


def test_what_is_not_kept_is_not_stored() -> None:
    store = a_store(keep=lambda pod: None if pod.spec.node_name == "gone" else pod)
    store.received(a_pod(version=11))
    assert store.received(a_pod(version=12, node="gone"))
    assert not store.objects
    assert not store.received(a_pod(version=13, node="gone"))


def test_what_cannot_be_read_any_more_counts_as_it_was_known_last() -> None:
    store = a_store(a_pod(version=3, node="n"))
    unread = a_pod(version=12).metadata
    store.received_unreadable(unread)
    assert store.objects[KEY].spec.node_name == "n"
    store.listed([], 20, [unread])
    assert store.objects[KEY].spec.node_name == "n"
    assert set(store.unread) == {KEY}


AGAIN: list[Callable[[Store[Pod]], object]] = [
    lambda store: store.received(a_pod(version=13)),
    lambda store: store.deleted(a_pod(version=13).metadata),
    lambda store: store.listed([], 13),
]


@pytest.mark.parametrize("change", AGAIN, ids=["read again", "deleted", "not listed"])
def test_what_can_be_read_again_or_is_gone_is_unread_no_more(
    change: Callable[[Store[Pod]], object],
) -> None:
    store = a_store(a_pod(version=3))
    store.received_unreadable(a_pod(version=12).metadata)
    assert store.unread
    change(store)
    assert not store.unread


def test_what_could_never_be_read_is_not_there() -> None:
    store = a_store()
    store.received_unreadable(a_pod(version=12).metadata)
    assert not store.objects
    assert store.position == 12

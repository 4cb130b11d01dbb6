from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Engine

from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.ledger.database.schema import migrate
from plimsoll_console.notifications import outbox as module
from plimsoll_console.notifications.cloud_event import CloudEvent
from plimsoll_console.notifications.occurrences import Kind, Occurrence
from plimsoll_console.notifications.outbox import REMEMBERED, Letter, Outbox
from support.clusters.seen import NOW

MINUTE, SOURCE = timedelta(minutes=1), "/clusters/a"
STARTED = Occurrence(Kind.STARTED, "TrainingJob/team/job", "uid-1", "vision", NOW + MINUTE)
LATER = NOW + 2 * MINUTE


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = connected(f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    migrate(engine)
    yield engine
    engine.dispose()


def taken(outbox: Outbox) -> list[CloudEvent]:
    """The events that are due; those that are taken are not due again for a minute."""
    letters = outbox.due(LATER, 100, MINUTE)
    return [msgspec.json.decode(each.body, type=CloudEvent) for each in letters]


def test_an_event_says_what_the_specification_asks_for(engine: Engine) -> None:
    outbox = Outbox(engine, SOURCE, NOW)
    outbox.tell([replace(STARTED, reason="Running", message="on <n-1>")], NOW)
    (letter,) = outbox.due(LATER, 100, MINUTE)
    assert msgspec.json.decode(letter.body) == {
        "specversion": "1.0",
        "id": "uid-1/started/20261121T120100Z",
        "source": SOURCE,
        "type": "dev.plimsoll.job.started",
        "subject": "TrainingJob/team/job",
        "time": "2026-11-21T12:01:00Z",
        "datacontenttype": "application/json",
        "data": {
            "kind": "TrainingJob",
            "namespace": "team",
            "name": "job",
            "queue": "vision",
            "reason": "Running",
            "message": "on <n-1>",
        },
    }


def test_what_was_told_is_not_told_again_by_the_next_console(engine: Engine) -> None:
    for _ in range(3):
        Outbox(engine, SOURCE, NOW).tell([STARTED], NOW)
    outbox = Outbox(engine, SOURCE, NOW)
    assert [event.id for event in taken(outbox)] == ["uid-1/started/20261121T120100Z"]
    assert not taken(outbox)


def test_two_consoles_at_a_time_tell_once(engine: Engine) -> None:
    one, two = Outbox(engine, SOURCE, NOW), Outbox(engine, SOURCE, NOW)
    one.tell([STARTED], NOW)
    two.tell([STARTED], NOW)
    assert len([*taken(one), *taken(two)]) == 1


def test_what_was_so_before_anybody_listened_is_not_told(engine: Engine) -> None:
    outbox = Outbox(engine, SOURCE, NOW)
    outbox.tell([replace(STARTED, at=NOW - MINUTE)], NOW)
    assert not taken(outbox)


def test_what_happened_while_the_console_was_away_is_told(engine: Engine) -> None:
    Outbox(engine, SOURCE, NOW)
    Outbox(engine, SOURCE, NOW + timedelta(hours=1)).tell([STARTED], LATER)
    assert taken(Outbox(engine, SOURCE, LATER))


def test_what_happens_again_is_told_again(engine: Engine) -> None:
    outbox = Outbox(engine, SOURCE, NOW)
    outbox.tell([STARTED], NOW)
    outbox.tell([replace(STARTED, kind=Kind.PREEMPTED)], NOW)
    outbox.tell([STARTED], NOW)
    outbox.tell([replace(STARTED, at=LATER)], NOW)
    told = [event.type.rpartition(".")[2] for event in taken(outbox)]
    assert sorted(told) == ["preempted", "started", "started"]


def test_an_event_that_nobody_finished_delivering_is_due_again(engine: Engine) -> None:
    outbox = Outbox(engine, SOURCE, NOW)
    outbox.tell([STARTED], NOW)
    (letter,) = outbox.due(NOW, 100, MINUTE)
    assert not outbox.due(NOW + MINUTE / 2, 100, MINUTE)
    assert outbox.due(LATER, 100, MINUTE) == [letter]
    outbox.failed(letter, "no answer", LATER + MINUTE)
    assert not outbox.due(LATER, 100, MINUTE)
    (again,) = outbox.due(LATER + MINUTE, 100, MINUTE)
    assert again == Letter(letter.id, letter.body, NOW, 1, "no answer")
    outbox.remove(again)
    assert outbox.waiting() == 0


def test_when_too_many_wait_the_oldest_are_dropped(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    outbox = Outbox(engine, SOURCE, NOW)
    assert outbox.tell([STARTED], NOW) == 0
    rest = [replace(STARTED, uid=f"uid-{number}") for number in (2, 3)]
    assert outbox.tell(rest, LATER) == 1
    assert {event.id[:5] for event in taken(outbox)} == {"uid-2", "uid-3"}


def test_objects_that_are_long_gone_are_forgotten_and_others_are_not(engine: Engine) -> None:
    outbox = Outbox(engine, SOURCE, NOW)
    both = [STARTED, replace(STARTED, uid="uid-2")]
    outbox.tell(both, NOW)
    for letter in outbox.due(NOW, 100, MINUTE):
        outbox.remove(letter)
    much_later = NOW + REMEMBERED + timedelta(days=1)
    outbox.forget({"uid-2"}, much_later)
    reopened = Outbox(engine, SOURCE, much_later)
    reopened.tell(both, much_later)
    (letter,) = reopened.due(much_later, 100, MINUTE)
    assert letter.id.startswith("uid-1")

from datetime import timedelta

import pytest

from plimsoll.acting.writes.caps import patch
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.capping.reaction import CapChange, cap_changes, power_reactions
from plimsoll.vocabulary.reasons import Reason
from plimsoll_agent.operator_life import Life
from plimsoll_agent.orders import Restore, order
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.estimate.capping.domain import MEASURED
from support.clusters.seen import NOW
from support.problems.power_cases import (
    EXPECTED,
    a_domain,
    a_node,
    a_reading,
    jobs,
    over,
    problem_of,
    reaction_to,
    row,
)

LONG_AGO = (NOW - timedelta(minutes=9)).isoformat()
CAPPED = a_node(
    "n-1", power_cap_watts="440", power_limit_watts="440,440,440,440", power_cap_time=LONG_AGO
)


def changes(snapshot: Snapshot) -> dict[str, int | None]:
    return {each.node.name: each.watts for each in changes_of(snapshot)}


def changes_of(snapshot: Snapshot) -> list[CapChange]:
    return list(cap_changes(snapshot, power_reactions(snapshot, problem_of(snapshot))))


def test_who_matters_least_is_capped_when_too_much_is_drawn() -> None:
    snapshot = row(a_domain(), power=a_reading(4800, n_1=2400, n_2=2400))
    [change] = changes_of(snapshot)
    assert change.node.name == "n-1"
    assert change.watts is not None
    assert 4 * 600 + 4 * change.watts <= MEASURED.cap_above * 4500
    assert change.reason is Reason.POWER_CAPPED
    assert "power domain row-a stays within its budget of 4500 W" in change.message


def test_all_are_capped_before_anybody_is_when_the_lowest_caps_are_not_enough() -> None:
    snapshot = row(a_domain(2600), power=a_reading(4000, n_1=2000, n_2=2000))
    found = changes(snapshot)
    assert found["n-1"] == 200
    assert found["n-2"] is not None
    assert found["n-2"] > 200


def test_within_the_budget_nothing_is_capped() -> None:
    assert changes(row(a_domain(), power=a_reading(4000, n_1=2000, n_2=2000))) == {}


def test_caps_that_are_there_are_not_made_twice() -> None:
    snapshot = row(a_domain(4300), CAPPED, a_node("n-2"), power=a_reading(4160, n_1=1760, n_2=2400))
    assert changes(snapshot) == {}
    assert reaction_to(snapshot).calm_since is None


def test_a_reading_from_before_a_cap_says_nothing_of_it() -> None:
    just_now = a_node("n-1", power_cap_watts="440", power_cap_time=NOW.isoformat())
    before = a_reading(4800, at=NOW - timedelta(seconds=1))
    assert changes(row(a_domain(), just_now, a_node("n-2"), power=before)) == {}


def test_without_a_measurement_caps_stay() -> None:
    blind = a_reading(problem="no answer")
    snapshot = row(a_domain(), CAPPED, a_node("n-2"), power=blind)
    assert changes(snapshot) == {}
    reaction = reaction_to(snapshot)
    assert (reaction.measured_watts, reaction.unknown) == (None, "no answer")
    assert reaction.expected_watts >= EXPECTED


def test_caps_are_lifted_in_steps_after_a_calm_minute() -> None:
    drawn = a_reading(3200, n_1=1600, n_2=1600)
    fresh = row(a_domain(), CAPPED, a_node("n-2"), power=drawn)
    assert changes(fresh) == {}
    assert reaction_to(fresh).calm_since == NOW
    for seconds, is_over in ((59, False), (61, True)):
        since = (NOW - timedelta(seconds=seconds)).isoformat()
        calm = a_domain(status={"calmSince": since})
        found = changes(row(calm, CAPPED, a_node("n-2"), power=drawn))
        assert bool(found) == is_over
    assert found["n-1"] is None or 440 < found["n-1"] <= 460


@pytest.mark.parametrize(
    "snapshot",
    [
        row(a_domain(), CAPPED, a_node("n-2"), power=a_reading(800, n_1=400, n_2=400), work=[]),
        row(a_domain(reaction={"order": ["Shrink"]}), CAPPED, power=a_reading(1900)),
        row(a_domain(nodeSelector={"row": "b"}), CAPPED, power=a_reading(1900)),
    ],
    ids=["no work", "no caps wanted", "another domain"],
)
def test_a_cap_without_a_purpose_is_taken_back(snapshot: Snapshot) -> None:
    [change] = changes_of(snapshot)
    assert (change.node.name, change.watts, change.reason) == ("n-1", None, Reason.POWER_RELEASED)
    assert patch(change)["metadata"] == {
        "uid": "uid-Node-n-1",
        "annotations": {
            "plimsoll.dev/power-cap-watts": None,
            "plimsoll.dev/power-cap-time": "2026-11-21T12:00:00.000+00:00",
        },
    }


def test_what_is_expected_is_capped_where_nothing_is_measured() -> None:
    watts = changes(row(a_domain(3000)))["n-1"]
    assert watts is not None
    assert 200 <= watts <= 250


LOWEST = [
    a_node(name, power_cap_watts="200", power_limit_watts="200,200,200,200")
    for name in ("n-1", "n-2")
]


@pytest.mark.parametrize(
    ("watts", "seconds", "is_due"),
    [(1700, 4, False), (1700, 6, True), (2000, 9, False), (2000, 11, True)],
    ids=["soon", "caps are at their lowest", "perhaps not set yet", "a cap that is not kept"],
)
def test_plans_give_out_less_when_caps_are_not_enough(
    watts: int, seconds: int, *, is_due: bool
) -> None:
    each = 800 if watts == 1700 else watts / 2
    drawn = a_reading(watts, n_1=each, n_2=each)
    reaction = reaction_to(row(a_domain(1600, over(seconds)), *LOWEST, power=drawn))
    assert (reaction.reduced_watts is not None) == is_due
    if is_due:
        assert reaction.reduced_watts is not None
        assert reaction.reduced_watts < reaction.counted_watts * 1600 / watts


def test_plans_are_not_reduced_again_while_work_is_going() -> None:
    status = over(60, reducedWatts=2500, reducedTime=(NOW - timedelta(seconds=9)).isoformat())
    order = {"order": ["Shrink", "Preempt"]}
    snapshot = row(a_domain(3000, status, reaction=order), power=a_reading(4000))
    assert reaction_to(snapshot).reduced_watts == 2500


def test_where_only_caps_are_allowed_plans_are_never_reduced() -> None:
    domain = a_domain(1600, over(600), reaction={"order": ["Cap"]})
    assert reaction_to(row(domain, power=a_reading(4000))).reduced_watts is None


def test_plans_get_the_budget_back_in_steps_when_there_is_room() -> None:
    def reduced(seconds: int, watts: float, before: int = 5000) -> int | None:
        since = (NOW - timedelta(seconds=seconds)).isoformat()
        domain = a_domain(6000, {"reducedWatts": before, "reducedTime": since})
        return reaction_to(row(domain, power=a_reading(watts))).reduced_watts

    assert reduced(59, 4000) == 5000
    assert reduced(61, 4000) == 5300
    assert reduced(61, 5900) == 5000
    assert reduced(61, 4000, before=5800) is None


def test_a_changed_budget_is_given_back_at_once_where_there_is_room() -> None:
    status = {"reducedWatts": 5800, "reducedTime": NOW.isoformat(), "observedGeneration": 7}
    assert reaction_to(row(a_domain(6000, status), power=a_reading(4000))).reduced_watts is None
    assert reaction_to(row(a_domain(6000, status))).reduced_watts is None, "also if unmeasured"
    known = {**status, "observedGeneration": None}
    assert reaction_to(row(a_domain(6000, known))).reduced_watts == 5800


REFUSED = {"power_cap_watts": "440", "power_limit_problem": "GPU 0: refused"}


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(
    "notes",
    [
        {**REFUSED, "power_limit_watts": "600,600,600,600"},
        {"power_cap_watts": "440", "power_limit_watts": "600,440,440,440"},
        {"power_cap_watts": "440"},
    ],
    ids=["a problem", "not followed", "silent"],
)
def test_a_node_that_does_not_keep_its_cap_has_others_save_for_it(notes: dict[str, str]) -> None:
    stubborn = a_node("n-1", **notes, power_cap_time=ago(11))
    drawn = a_reading(4800, n_1=2400, n_2=2400)
    found = changes(row(a_domain(), stubborn, a_node("n-2"), power=drawn))
    assert found.keys() == {"n-2"}  # the cap of the other stays asked for
    assert found["n-2"] is not None
    assert 2400 + 4 * found["n-2"] <= MEASURED.cap_above * 4500


def test_a_node_has_some_seconds_to_set_its_cap() -> None:
    limits = {"power_cap_watts": "200", "power_limit_watts": "600,600,600,600"}
    fresh = a_node("n-1", **limits, power_cap_time=ago(9))
    drawn = a_reading(4800, n_1=2400, n_2=2400)
    assert "n-2" not in changes(row(a_domain(), fresh, a_node("n-2"), power=drawn))


def test_an_operator_that_is_back_counts_on_nodes_that_missed_it() -> None:
    [said] = {order("440", Life.SILENT, timeout_seconds=60)}
    assert isinstance(said, Restore)
    missed = {"power_cap_watts": "440", "power_limit_problem": said.why}
    node = a_node("n-1", **missed, power_limit_watts="600,600,600,600", power_cap_time=LONG_AGO)
    drawn = a_reading(4800, n_1=2400, n_2=2400)
    assert changes(row(a_domain(), node, a_node("n-2"), power=drawn)).keys() == {"n-1"}


@pytest.mark.parametrize(
    ("watts", "calm_seconds", "is_lifted"), [(3000, 61, True), (3000, 59, False), (4300, 61, False)]
)
def test_a_cap_that_is_not_kept_is_asked_for_until_there_is_room_without_it(
    watts: int, calm_seconds: int, *, is_lifted: bool
) -> None:
    limits = {**REFUSED, "power_limit_watts": "600,440,440,440"}
    refused = a_node("n-1", **limits, power_cap_time=LONG_AGO)
    domain = a_domain(status={"calmSince": ago(calm_seconds)})
    drawn = a_reading(watts, n_1=watts / 2, n_2=watts / 2)
    found = changes(row(domain, refused, a_node("n-2"), power=drawn))
    assert found == ({"n-1": None} if is_lifted else {})


def test_without_a_measurement_a_cap_that_is_not_kept_is_not_asked_for_again_and_again() -> None:
    refused = a_node("n-1", **REFUSED, power_limit_watts="600,600,600,600", power_cap_time=LONG_AGO)
    found = changes(row(a_domain(3600), refused, a_node("n-2")))
    assert found.keys() == {"n-2"}
    assert changes(row(a_domain(9000), refused, a_node("n-2"))) == {"n-1": None}


def leaving(job: Manifest, *pods: Manifest) -> list[Manifest]:
    """A job that has lost its place, and its pods, which are still there with all four GPUs."""
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    for pod in pods:
        pod["spec"]["containers"] = [{"name": "main", **limits}]
    return [{**job, "status": {}}, *pods]


def test_pods_that_have_no_place_any_more_are_limited_until_they_have_gone() -> None:
    urgent_class, batch, *rest = jobs()
    pods, others = rest[:4], rest[4:]
    capped = a_node("n-1", power_cap_watts="200", power_limit_watts="200,200,200,200")
    nodes = capped, a_node("n-2", power_cap_watts="300", power_limit_watts="300,300,300,300")
    reading = a_reading(2000, n_1=800, n_2=1200)
    leave = [urgent_class, *leaving(batch, *pods), *others]
    assert changes(row(a_domain(2000), *nodes, power=reading, work=leave)).keys() <= {"n-2"}
    gone: list[Manifest] = [urgent_class, {**batch, "status": {}}, *others]
    assert changes(row(a_domain(2000), *nodes, power=reading, work=gone))["n-1"] is None

"""The gangs that two schedulers are compared by: their bound, and the books that are kept."""

import json
from collections import Counter
from pathlib import Path

import pytest

import beside
from plimsoll_bench.beside.book import Event, GangBook
from plimsoll_bench.beside.figures import figures_of, handovers
from plimsoll_bench.beside.gangs import Gang, drawn_gangs, least_makespan
from plimsoll_bench.beside.jobs import per_job
from plimsoll_bench.beside.sides import KNOWN, KUEUE, PLIMSOLL
from plimsoll_bench.beside.theirs import BY_QUOTA, PACKED, batch_job
from plimsoll_bench.beside.writes import WriteCounter
from plimsoll_devcluster.manifest import Manifest

MANAGER = "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc"


def an_audit_line(user_agent: str, resource: str, subresource: str = "") -> str:
    about = {"resource": resource, "subresource": subresource}
    return json.dumps({"userAgent": user_agent, "objectRef": about}) + "\n"


def a_gang(gpus: int, seconds: float, name: str = "g") -> Gang:
    return Gang(name, max(1, gpus // 8), min(gpus, 8), seconds)


def a_pod(uid: str, phase: str, node: str) -> Manifest:
    return {
        "metadata": {"uid": uid},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase},
    }


def a_book(*, bound: float, starts: float, ends: float, node: str) -> GangBook:
    """That of a gang of two pods, the first of which was bound at once."""
    book = GangBook(2, asked=0)
    for at, uid, phase, where in (
        (0, "a", "Running", node),
        (0, "b", "Pending", ""),
        (bound, "b", "Pending", node),
        (starts, "b", "Running", node),
        (ends, "a", "Succeeded", node),
        (ends, "b", "Succeeded", node),
    ):
        book.see(Event(at, "MODIFIED", a_pod(uid, phase, where)))
    return book


def test_the_gangs_ask_for_a_known_multiple_of_the_gpus() -> None:
    for seed in range(3):
        asked = [
            sum(gang.gpus for gang in drawn_gangs(count, seed, seconds=30, vary=False))
            for count in (154, 300)
        ]
        assert asked == [1203, 2346]


def test_the_seed_gives_their_order() -> None:
    once, again, other = (drawn_gangs(50, seed, seconds=30, vary=False) for seed in (1, 1, 2))
    assert once == again
    assert [gang.gpus for gang in once] != [gang.gpus for gang in other]


@pytest.mark.parametrize("seed", range(5))
def test_lengths_that_vary_are_as_much_work_together(seed: int) -> None:
    gangs = drawn_gangs(300, seed, seconds=30, vary=True)
    work = sum(gang.gpus * gang.seconds for gang in gangs)
    assert work == pytest.approx(30 * sum(gang.gpus for gang in gangs), rel=0.01)
    assert len({gang.seconds for gang in gangs}) > 100


@pytest.mark.parametrize(
    ("gangs", "gpus", "least"),
    [
        ([a_gang(4, 30)] * 4, 8, 60),  # two after two
        ([a_gang(4, 30)] * 5, 8, 90),  # by work alone 75
        ([a_gang(8, 100), *[a_gang(1, 1)] * 8], 16, 100),
        ([a_gang(8, 20), a_gang(8, 10), a_gang(8, 10)], 16, 20),
        ([a_gang(8, 10)] * 2 + [a_gang(8, 20)], 8, 40),
    ],
)
def test_no_order_ends_sooner_than_the_bound(gangs: list[Gang], gpus: int, least: float) -> None:
    assert least_makespan(gangs, gpus) == least


def test_a_gang_is_half_bound_while_only_some_of_its_pods_have_nodes() -> None:
    gangs = [a_gang(16, 30, name) for name in "xy"]
    books = {
        "x": a_book(bound=1, starts=2, ends=32, node="m"),
        "y": a_book(bound=6, starts=8, ends=38, node="n"),
    }
    found = figures_of(gangs, books, began=0, gpus=32)
    assert (found.half_bound_gangs, found.longest_half_bound_s) == (1, 6)
    assert (found.makespan_s, found.mean_wait_s, found.longest_wait_s) == (38, 5, 8)
    assert found.gpus_working == round(30 / 38, 3)


def test_a_handover_is_from_the_last_end_on_its_nodes() -> None:
    first, second = (
        a_book(bound=1, starts=2, ends=32, node="m"),
        a_book(bound=1, starts=2, ends=40, node="n"),
    )
    next_there = a_book(bound=33, starts=34, ends=70, node="m")
    assert handovers([first, second, next_there]) == [2]


def test_a_gang_that_has_not_ended_is_no_figure() -> None:
    with pytest.raises(ValueError, match="has not ended"):
        figures_of([a_gang(8, 30)], {"g": GangBook(1, asked=0)}, began=0, gpus=8)


def test_writes_count_from_when_the_counter_is_made_by_who_writes_what(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    log.write_text(an_audit_line("kwok/v0.8.0", "nodes"))
    counter = WriteCounter(log)
    with log.open("a") as audit:
        audit.write(an_audit_line("kwok/v0.8.0", "pods", "status") * 2)
        audit.write(an_audit_line(MANAGER, "pods"))
        audit.write(an_audit_line("plimsoll-devcluster", "jobs"))
        audit.write(an_audit_line("kueue/v0.19.2", "workloads")[:20])
    assert counter.count() == {
        ("kwok", "pods/status"): 2,
        ("kube-controller-manager", "pods"): 1,
        ("bench", "jobs"): 1,
    }


def test_writes_of_a_job_leave_out_the_benchmark_s_own() -> None:
    written = Counter({("kwok", "pods/status"): 50, ("bench", "jobs"): 100, ("kwok", "nodes"): 0})
    assert per_job(written, 100) == {"kwok": {"pods/status": 0.5}}


def test_both_queues_of_kueue_get_the_same_gang_and_one_packs_it() -> None:
    by_quota, packed = (batch_job(a_gang(16, 30), queue) for queue in (BY_QUOTA, PACKED))
    assert by_quota["spec"]["parallelism"] == packed["spec"]["parallelism"] == 2
    notes = [each["spec"]["template"]["metadata"]["annotations"] for each in (by_quota, packed)]
    assert notes == [{}, {"kueue.x-k8s.io/podset-preferred-topology": "plimsoll.dev/rack"}]


def test_asked_for_one_half_it_leaves_out_the_other() -> None:
    halves = [beside.parsed(words) for words in ([], ["--jobs", "50"], ["--gangs", "30"])]
    assert [(each.jobs, each.gangs) for each in halves] == [(4000, 300), (50, 0), (0, 30)]


def test_without_kueue_there_is_only_plimsoll() -> None:
    assert beside.sides_of(beside.parsed([]), beside.GANG_SIDES) == [PLIMSOLL, KNOWN]
    both = beside.parsed(["--kueue", "--only", KUEUE, PLIMSOLL])
    assert beside.sides_of(both, beside.JOB_SIDES) == [KUEUE, PLIMSOLL]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--jobs", "5000"], "--jobs: must be at most 4000, a GPU each"),
        (["--gang-nodes", "4"], "--gang-nodes: must be a number of at least 8"),
        (["--only", "kueue"], "--only: kueue needs --kueue"),
        (["--kueue", "/nowhere"], "--kueue: /nowhere is no folder that `make kueue` prints"),
    ],
)
def test_what_makes_no_sense_ends_the_program(words: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        beside.parsed(words)

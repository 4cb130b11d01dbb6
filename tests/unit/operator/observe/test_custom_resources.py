import copy
from typing import Any

import pytest

from plimsoll.api.model import status_wire_of
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.observe.custom_resources import CustomResources
from plimsoll_devcluster.manifest import Manifest
from support.objects.job_manifests import a_queue, a_training_job


class Known:
    """Custom resources, and how often they were said to have changed."""

    def __init__(self) -> None:
        self.changes = 0
        self.resources = CustomResources(self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def versions(self) -> list[int]:
        return [int(each.metadata.resource_version) for each in self.resources.all()]

    def the_job(self) -> TrainingJob:
        [job] = self.resources.all()
        assert isinstance(job, TrainingJob)
        return job


def in_version(version: int, manifest: Manifest | None = None, **status: Any) -> Manifest:  # noqa: ANN401
    raw = copy.deepcopy(manifest or a_training_job("job"))
    raw["metadata"] |= {"uid": raw["metadata"]["name"], "resourceVersion": str(version)}
    return {**raw, "status": status}


@pytest.fixture
def known() -> Known:
    return Known()


def test_the_newest_version_wins_whichever_way_it_came(known: Known) -> None:
    for version in (9, 10, 9, 10, 2):
        known.resources.received(in_version(version))
    assert known.versions() == [10]
    assert known.changes == 2


def test_what_was_deleted_stays_gone_though_a_late_list_still_holds_it(known: Known) -> None:
    job = in_version(5)
    known.resources.received(job)
    known.resources.gone(in_version(8))
    known.resources.received(in_version(6))  # a page of a list that was begun before
    known.resources.listed("TrainingJob", ["job"], version=7)
    assert known.resources.all() == []
    known.resources.listed("TrainingJob", [], version=9)
    assert known.resources.all() == []


def test_a_deletion_may_be_received_before_the_object_was(known: Known) -> None:
    known.resources.gone(in_version(8))
    known.resources.received(in_version(6))
    assert known.resources.all() == []
    assert known.changes == 0


def test_a_list_takes_away_what_it_does_not_hold(known: Known) -> None:
    known.resources.received(in_version(5))
    known.resources.received(in_version(6, a_training_job("other")))
    known.resources.listed("TrainingJob", ["other"], version=9)
    assert known.versions() == [6]


def test_a_list_takes_away_nothing_that_is_newer_or_of_another_kind(known: Known) -> None:
    known.resources.received(in_version(10))
    known.resources.received(in_version(5, a_queue("queue")))
    known.resources.listed("TrainingJob", [], version=9)
    assert known.versions() == [10, 5]


def status(reason: str) -> TrainingJobStatus:
    return TrainingJobStatus(reason=reason)


def test_a_status_counts_as_written_until_it_is(known: Known) -> None:
    known.resources.received(in_version(5))
    known.resources.assume("job", status("Admitted"))
    assert known.the_job().status.reason == "Admitted"
    assert known.the_job().metadata.resource_version == "5"
    known.resources.forget("job")
    assert known.the_job().status.reason == ""


def test_a_written_status_is_known_before_the_watch_reports_it(known: Known) -> None:
    known.resources.received(in_version(5))
    known.resources.wrote(known.the_job(), status("Admitted"), "7")
    assert (known.the_job().status.reason, known.versions()) == ("Admitted", [7])
    known.resources.received(in_version(6, reason="Pending"))  # the watch is behind
    assert known.the_job().status.reason == "Admitted"


def test_what_was_written_is_no_news_where_something_newer_is_known(known: Known) -> None:
    known.resources.received(in_version(5))
    job = known.the_job()
    known.resources.received(in_version(9, reason="Running"))
    known.resources.wrote(job, status("Admitted"), "7")
    assert (known.the_job().status.reason, known.versions()) == ("Running", [9])


def test_what_was_written_brings_no_deleted_job_back(known: Known) -> None:
    known.resources.received(in_version(5))
    job = known.the_job()
    known.resources.assume("job", status("Admitted"))
    known.resources.gone(in_version(6))
    known.resources.wrote(job, status("Admitted"), "7")
    assert known.resources.all() == []


def test_the_same_facts_are_the_same_object(known: Known) -> None:
    known.resources.received(in_version(5))
    known.resources.assume("job", status("Admitted"))
    assert known.the_job() is known.the_job()


def of_generation(generation: int, version: int, **status: Any) -> Manifest:  # noqa: ANN401
    raw = in_version(version, **status)
    raw["metadata"]["generation"] = generation
    return raw


def test_a_spec_is_not_read_again_while_only_the_status_changes(known: Known) -> None:
    known.resources.received(of_generation(1, 5))
    spec = known.the_job().spec
    known.resources.received(of_generation(1, 6, reason="Running"))
    assert (known.the_job().status.reason, known.versions()) == ("Running", [6])
    assert known.the_job().spec is spec
    edited = of_generation(2, 7)
    edited["spec"]["workers"] |= {"min": 2, "max": 2}
    known.resources.received(edited)
    assert known.the_job().spec.workers.max == 2


def test_a_status_that_arrives_as_it_was_to_be_written_is_the_same_object(known: Known) -> None:
    known.resources.received(of_generation(1, 5))
    wanted = status("Admitted")
    known.resources.assume("job", wanted)
    known.resources.received(of_generation(1, 6, **status_wire_of(wanted)))
    known.resources.forget("job")
    assert known.the_job().status is wanted


def test_a_status_that_arrives_otherwise_is_what_was_written_by_others(known: Known) -> None:
    known.resources.received(of_generation(1, 5))
    known.resources.assume("job", status("Admitted"))
    known.resources.received(of_generation(1, 6, reason="Running"))
    known.resources.forget("job")
    assert known.the_job().status.reason == "Running"


def test_a_status_that_cannot_be_read_is_refused_by_its_path(known: Known) -> None:
    known.resources.received(of_generation(1, 5))
    known.resources.received(of_generation(1, 6, revision="many"))
    [refused] = known.resources.refused()
    assert refused.why.startswith("status.revision: should be a valid integer")


def broken(version: int, **spec: object) -> Manifest:
    raw = in_version(version)
    raw["metadata"]["generation"] = version
    raw["spec"]["workers"] |= spec or {"min": "many"}
    return raw


def test_an_object_that_cannot_be_read_stays_as_it_was_and_can_be_written_to(known: Known) -> None:
    known.resources.received(in_version(5))
    before = known.the_job()
    known.resources.received(broken(6))
    assert known.the_job().spec == before.spec
    assert known.versions() == [6], "else whatever is written of it would be refused as stale"


def test_why_an_object_cannot_be_read_is_known_until_it_can(known: Known) -> None:
    known.resources.received(broken(6))
    [refused] = known.resources.refused()
    assert (str(refused), refused.generation) == ("TrainingJob//job", 6)
    assert refused.why.startswith("spec.workers.min: should be a valid integer")
    known.resources.received(in_version(7))
    assert (known.resources.refused(), known.versions()) == ((), [7])


@pytest.mark.parametrize("version", [4, 6])
def test_only_newer_versions_replace_one_that_cannot_be_read(known: Known, version: int) -> None:
    known.resources.received(broken(6))
    known.resources.received(in_version(version))
    assert len(known.resources.refused()) == 1


def test_an_object_that_cannot_be_read_is_forgotten_when_it_is_deleted(known: Known) -> None:
    known.resources.received(broken(6))
    known.resources.gone(broken(7))
    assert known.resources.refused() == ()


def test_an_object_that_cannot_be_read_is_forgotten_when_a_list_lacks_it(known: Known) -> None:
    known.resources.received(broken(6))
    known.resources.listed("TrainingJob", [], version=5)
    assert len(known.resources.refused()) == 1, "it came after the list"
    known.resources.listed("TrainingJob", [], version=6)
    assert known.resources.refused() == ()


def test_an_object_of_endless_depth_costs_only_itself(known: Known) -> None:
    deep: object = "bottom"
    for _ in range(5_000):
        deep = {"a": deep}
    known.resources.received(broken(6, template={"metadata": {"x": deep}, "spec": deep}))
    assert len(known.resources.refused()) == 1

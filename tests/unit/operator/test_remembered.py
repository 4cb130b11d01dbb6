from plimsoll.api.training_job import TrainingJob
from plimsoll.remembered import once_for_each
from support.objects.job_manifests import a_training_job


class Counted:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def name(self, job: TrainingJob) -> str:
        self.asked.append(job.metadata.name)
        return job.metadata.name


def a_job(name: str) -> TrainingJob:
    manifest = a_training_job(name)
    manifest["metadata"] |= {"uid": name, "namespace": "team"}
    return TrainingJob.model_validate(manifest)


def test_what_follows_from_an_object_is_asked_for_once() -> None:
    counted, job = Counted(), a_job("one")
    name = once_for_each(counted.name)
    assert [name(job), name(job)] == ["one", "one"]
    assert counted.asked == ["one"]


def test_another_version_of_it_is_another_object() -> None:
    counted, job = Counted(), a_job("one")
    name = once_for_each(counted.name)
    name(job)
    name(job.model_copy(update={"status": job.status}))
    assert counted.asked == ["one", "one"]


def test_what_is_gone_is_forgotten_and_its_place_taken_by_another_is_not_mistaken_for_it() -> None:
    counted = Counted()
    name = once_for_each(counted.name)
    for number in range(100):
        job = a_job(f"job-{number}")
        assert name(job) == f"job-{number}"
        del job
    assert len(counted.asked) == 100

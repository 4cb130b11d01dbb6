from plimsoll.planning.problem.build import wants_place
from plimsoll.planning.training.success import has_succeeded, is_done
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import a_training_job

GANG = at(a_training_job("j", workers=2, gpus=8), "n-0", "n-1")


def as_seen(*pods: Manifest, job: Manifest = GANG) -> bool:
    [view] = seen(job, *pods).jobs
    assert wants_place(view) is not has_succeeded(view)
    return has_succeeded(view)


def test_a_gang_holds_nothing_once_all_its_workers_have_succeeded() -> None:
    assert as_seen(*pods_of(GANG, phase="Succeeded"))


def test_what_a_suspended_gang_has_done_counts() -> None:
    job = GANG | {"spec": GANG["spec"] | {"suspend": True}}
    assert as_seen(*pods_of(GANG, phase="Succeeded"), job=job)


def test_it_is_done_when_all_those_have_succeeded_that_decide() -> None:
    done, other = pods_of(GANG, phase="Succeeded")
    runs, _ = pods_of(GANG)
    for pods, is_all in (((done, other), True), ((done,), False), ((runs, other), False)):
        [view] = seen(GANG, *pods).jobs
        assert is_done(view) is is_all


def test_it_holds_its_gpus_while_one_worker_runs() -> None:
    done, _ = pods_of(GANG, phase="Succeeded")
    _, runs = pods_of(GANG)
    assert not as_seen(done, runs)


def test_a_worker_that_is_missing_has_not_succeeded() -> None:
    assert not as_seen(pods_of(GANG, phase="Succeeded")[0])


def test_workers_of_an_earlier_gang_do_not_count() -> None:
    placement = GANG["status"]["placement"] | {"revision": 2}
    again = GANG | {"status": GANG["status"] | {"placement": placement}}
    assert not as_seen(*pods_of(GANG, phase="Succeeded"), job=again)


def test_a_worker_that_failed_has_not_succeeded() -> None:
    assert not as_seen(*pods_of(GANG, phase="Failed"))

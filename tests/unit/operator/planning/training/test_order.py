from datetime import timedelta

import pytest

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.entitlements import admission_order
from plimsoll_placement.model import Job
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_training_job, an_inference_job

NODES = [fake_node(f"n-{index}", H100, 8) for index in range(2)]


def a_job(name: str, *, gpus: int = 1, seconds: int | None = None, **came: timedelta) -> Manifest:
    job = a_training_job(name, gpus=gpus, rates={H100: 1})
    job["spec"] |= {} if seconds is None else {"work": {"amount": seconds}}
    created = NOW - came.get("ago", timedelta())
    return job | {"metadata": job["metadata"] | {"creationTimestamp": created.isoformat()}}


def planned(*jobs: Manifest) -> list[Job]:
    problem = plan_input_of(seen(*NODES, *jobs), ProblemBuilder()).problem
    return sorted(problem.jobs, key=admission_order)


def order(*jobs: Manifest) -> list[str]:
    return [job.name.rsplit("/", 1)[-1] for job in planned(*jobs)]


def test_of_jobs_that_came_together_the_smallest_goes_first() -> None:
    jobs = [a_job("c", gpus=2), a_job("a", gpus=8), a_job("b", gpus=1)]
    assert order(*jobs) == ["b", "c", "a"]


def test_the_shortest_goes_first_where_lengths_are_stated() -> None:
    jobs = [a_job("long", seconds=90000), a_job("short", seconds=60, gpus=8), a_job("unknown")]
    jobs += [a_job(f"other-{n}", seconds=7200) for n in range(32)]
    found = order(*jobs)
    assert found[0] == "short"
    assert found.index("unknown") < found.index("other-0") < found.index("long")


def test_of_one_size_the_oldest_goes_first() -> None:
    hour = timedelta(hours=1)
    assert order(a_job("b", ago=2 * hour), a_job("a", ago=hour)) == ["b", "a"]


@pytest.mark.parametrize(("hours", "first"), [(1, "small"), (7, "large")])
def test_a_large_job_that_has_waited_long_lets_no_small_one_pass(hours: int, first: str) -> None:
    large = a_job("large", gpus=8, ago=timedelta(hours=hours))
    assert order(large, a_job("small"))[0] == first


def test_a_plan_starts_the_small_ones_even_where_a_large_one_would_use_more_gpus() -> None:
    nodes = [fake_node(f"n-{index}", H100, 8) for index in range(4)]
    large = a_training_job("large", workers=4, gpus=8)
    small = [a_training_job(f"small-{n}", gpus=1) for n in range(31)]
    solution = solve(plan_input_of(seen(*nodes, large, *small), ProblemBuilder()).problem)
    assert len(solution.placements) == len(small)


def test_a_service_counts_by_one_replica() -> None:
    service = an_inference_job("service", gpus=8, replicas=4)
    metadata = {**service["metadata"], "creationTimestamp": NOW.isoformat()}
    service = service | {"metadata": metadata}
    large = a_training_job("large", workers=2, gpus=8)
    large = large | {"metadata": large["metadata"] | {"creationTimestamp": NOW.isoformat()}}
    assert order(service, a_job("small"), large) == ["small", "service", "large"]


def urgency(job: Manifest, *others: Manifest) -> int:
    """The urgency of a job beside others."""
    [found] = [
        each for each in planned(job, *others) if each.name.endswith(job["metadata"]["name"])
    ]
    return found.urgency_milli


class TestHaste:
    def others(self, seconds: int = 1600) -> list[Manifest]:
        """Work for all 16 GPUs for half of that time."""
        return [a_job(f"other-{n}", seconds=seconds // 2) for n in range(16)]

    def test_a_job_as_long_as_all_others_take_goes_first(self) -> None:
        first, *others = planned(a_job("long", gpus=1, seconds=1600), *self.others())
        assert first.name.endswith("/long")
        assert first.urgency_milli > max(job.urgency_milli for job in others)

    def test_not_while_others_take_longer(self) -> None:
        long = a_job("long", seconds=1600)
        assert urgency(long, *self.others(8000)) < urgency(long, *self.others())

    def test_nor_if_the_queue_is_short_beside_it(self) -> None:
        assert order(a_job("long", seconds=160000), *self.others())[-1] == "long"

    def test_nor_while_others_may_take_an_hour_each(self) -> None:
        long, unknown = a_job("long", seconds=1600), [a_job(f"unknown-{n}") for n in range(16)]
        assert urgency(long, *unknown) < urgency(long, *self.others())

    def test_what_runs_counts_by_what_is_left(self) -> None:
        def running(name: str, node: str, seconds: int) -> Manifest:
            return at(a_job(name, gpus=8, seconds=seconds), node, startedTime=NOW.isoformat())

        long = a_job("long", seconds=1600)
        soon = urgency(long, running("a", "n-0", 1500), running("b", "n-1", 1500))
        late = urgency(long, running("a", "n-0", 15000), running("b", "n-1", 15000))
        assert soon > late

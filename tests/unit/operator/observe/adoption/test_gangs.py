"""Which pods of a workload may be one gang: those that ask for the same."""

import pytest

from plimsoll.observe.adoption.gangs import gang_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import candidate, problem
from support.objects.manifests import edited
from support.objects.workloads import a_jobset, asking, held, replicated


def of_two_kinds(second: Manifest) -> Manifest:
    """A JobSet of a leader and a worker with a GPU each, of which the worker's pod is changed."""
    jobs = [replicated("leader", gpus=1), replicated("worker", gpus=1)]
    at = "spec.replicatedJobs.1.template.spec.template.spec"
    return held(
        edited(
            asking(a_jobset(replicatedJobs=jobs)),
            {f"{at}.{field}": value for field, value in second.items()},
        )
    )


SIDECAR: Manifest = {"name": "log", "image": "log:1", "resources": {"requests": {"cpu": "100m"}}}
SAME: dict[str, Manifest] = {
    "an image": {"containers.0.image": "other:1"},
    "a grace period": {"terminationGracePeriodSeconds": 60},
    "a class": {"priorityClassName": "high"},
    "an amount written in another way": {
        "containers.0.resources": {
            "requests": {"nvidia.com/gpu": "1"},
            "limits": {"nvidia.com/gpu": 1},
        }
    },
    "a gate of others": {"schedulingGates": [{"name": "example.com/quota"}]},
}
OTHER: dict[str, Manifest] = {
    "GPUs": {"containers.0.resources.limits": {"nvidia.com/gpu": 2}},
    "cores": {"containers.0.resources.requests": {"cpu": 2}},
    "a container more": {"containers.1": SIDECAR},
    "nodes": {"nodeSelector": {"zone": "a"}},
    "taints": {"tolerations": [{"operator": "Exists"}]},
    "overhead": {"overhead": {"cpu": "1"}},
}


@pytest.mark.parametrize("second", SAME.values(), ids=SAME.keys())
def test_pods_may_differ_in_what_plans_do_not_depend_on(second: Manifest) -> None:
    workload = of_two_kinds(second)
    assert problem(workload) == ""
    assert gang_of(candidate(workload)).count == 2


@pytest.mark.parametrize("second", OTHER.values(), ids=OTHER.keys())
def test_pods_that_ask_for_something_else_are_no_gang_with_others(second: Manifest) -> None:
    assert "make these alike, as one gang has workers of one kind" in problem(of_two_kinds(second))


def test_the_longest_grace_period_is_how_long_all_may_save() -> None:
    workload = of_two_kinds({"terminationGracePeriodSeconds": 20})
    assert gang_of(candidate(workload)).save_seconds == 20

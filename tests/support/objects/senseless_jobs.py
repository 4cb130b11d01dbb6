"""Jobs that make no sense to anybody but a lenient API server: each once stopped the whole cluster.

Most are refused by the schema of today; they may be there from before it.
"""

from typing import Any, Final

from support.objects.manifests import Manifest, edited, gang_of_roles, inference_job, training_job

_TEMPLATE: Final = "spec.workers.template"
_POD: Final = f"{_TEMPLATE}.spec"
_MAIN: Final = f"{_POD}.containers.0"
_LAUNCHER: Final = "spec.roles.0.template.spec"
_RATE: Final = "spec.accelerators.0.throughput.0.rate"


def nested(depth: int) -> Any:  # noqa: ANN401 - any JSON
    """An object in an object, so many levels deep."""
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": value}
    return value


def _in_a_hurry(rate: str, amount: str = "1e15") -> Manifest:
    work = {"amount": amount, "unit": "steps", "deadline": "2027-06-01T00:00:00Z"}
    return edited(training_job(), {_RATE: rate, "spec.work": work, "spec.spot": {"allowed": True}})


WRONG_IN_THE_TEMPLATE: Final[dict[str, Manifest]] = {
    "priority": edited(training_job(), {f"{_POD}.priority": "high"}),
    "scheduling-gates": edited(training_job(), {f"{_POD}.schedulingGates": "x"}),
    "pod-resources-float": edited(
        training_job(), {f"{_POD}.resources": {"requests": {"cpu": 0.5}}}
    ),
    "pod-resources-word": edited(
        training_job(), {f"{_POD}.resources": {"requests": {"cpu": "much"}}}
    ),
    "env": edited(training_job(), {f"{_MAIN}.env": 7}),
    "volume-mounts": edited(training_job(), {f"{_MAIN}.volumeMounts": 7}),
    "volumes": edited(training_job(), {f"{_POD}.volumes": 7}),
    "deep-spec": edited(training_job(), {f"{_POD}.unheardOf": nested(255)}),
    "launcher-env": edited(gang_of_roles(), {f"{_LAUNCHER}.containers.0.env": 7}),
    "launcher-volumes": edited(gang_of_roles(), {f"{_LAUNCHER}.volumes": 7}),
    "launcher-deep": edited(gang_of_roles(), {f"{_LAUNCHER}.unheardOf": nested(255)}),
    "deep-metadata": edited(training_job(), {f"{_TEMPLATE}.metadata.unheardOf": nested(255)}),
}
"""Each with a field of a type that pods do not have."""

BEYOND_NUMBERS: Final[dict[str, Manifest]] = {
    "memory-of-nine": edited(
        training_job(),
        {
            f"{_POD}.containers": [
                {"name": f"c{n}", "image": "x", "resources": {"requests": {"memory": "8Ei"}}}
                for n in range(9)
            ]
        },
    ),
    "cpu-of-nine": edited(
        training_job(),
        {
            f"{_POD}.containers": [
                {"name": f"c{n}", "image": "x", "resources": {"requests": {"cpu": "9E"}}}
                for n in range(9)
            ]
        },
    ),
    "exponent": edited(training_job(), {f"{_MAIN}.resources": {"requests": {"memory": "1e1000"}}}),
    "memory-of-a-launcher": edited(
        gang_of_roles(),
        {f"{_LAUNCHER}.containers.0.resources": {"requests": {"memory": "1e1000"}}},
    ),
    "endless-work": _in_a_hurry("0.001"),
    "rate-near-nothing": _in_a_hurry("1e-330", "10"),
    "load-near-nothing": edited(
        inference_job(),
        {
            "spec.roles.0.profiles.0.load": "1e-300",
            "spec.load": {"queries": [{"name": "Load", "query": "vector(1e15)"}]},
        },
    ),
}
"""Each with a number that is legal in Kubernetes, and beyond what is computed with."""


def called(name: str, job: Manifest) -> Manifest:
    """The job under the name that says what is wrong with it."""
    return {**job, "metadata": {**job["metadata"], "name": name}}

"""Jobs as somebody might write them who means harm, or whose program has gone wrong.

What is refused must be refused by the API server; what is taken must harm nobody.
"""

from typing import Any, Final

from support.objects.manifests import Manifest, edited, gang_of_roles, inference_job, training_job

_W: Final = "spec.workers"
_T: Final = f"{_W}.template"
_C: Final = f"{_T}.spec.containers.0"
_NOTES: Final = f"{_T}.metadata.annotations"
_HUGE: Final = 2**63 - 1


_LOADERS: Final = {**gang_of_roles()["spec"]["roles"][1], "replicas": {"min": 1024}}


def _nested(depth: int) -> Any:  # noqa: ANN401 - any JSON
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": value}
    return value


def _named(name: str) -> Manifest:
    return edited(training_job(), {"metadata.name": name})


REFUSED: Final[dict[str, Manifest]] = {
    "a name of another alphabet": _named("тренировка"),
    "a name with a right-to-left mark": _named("train\u202e"),
    "a name that is a piece of PromQL": _named('x"} or vector(1e9) or {a="'),
    "a name that leads out of its folder": _named("../../nodes"),
    "a name without end": _named("a" * 254),
    "four megabytes": edited(training_job(), {_NOTES: {"a": "x" * 4_000_000}}),
    "two megabytes": edited(training_job(), {_NOTES: {"a": "x" * 2_000_000}}),
    "very many types": edited(
        training_job(),
        {"spec.accelerators": [{"type": f"gpu-{n}", "throughput": []} for n in range(500)]},
    ),
    "more workers than numbers of 32 bits": edited(training_job(), {f"{_W}.max": 2**31}),
    "a negative number of workers": edited(training_job(), {f"{_W}.min": -1}),
    "half a worker": edited(training_job(), {f"{_W}.max": 2.5}),
    "infinitely many workers": edited(training_job(), {f"{_W}.max": "Infinity"}),
    "more GPUs than there are atoms": edited(training_job(), {f"{_W}.gpusPerWorker": 10**80}),
    "a rate that is no number": edited(
        training_job(), {"spec.accelerators.0.throughput.0.rate": "NaN"}
    ),
    "a rate below nothing": edited(training_job(), {"spec.accelerators.0.throughput.0.rate": "-1"}),
    "a load that is no number": edited(inference_job(), {"spec.roles.0.profiles.0.load": "nan"}),
    "memory that is no number": edited(
        training_job(), {f"{_C}.resources": {"requests": {"memory": "much"}}}
    ),
    "memory by an exponent that API servers choke on": edited(
        training_job(), {f"{_C}.resources": {"requests": {"memory": "1e2147483647"}}}
    ),
    "less than no memory": edited(
        training_job(), {f"{_C}.resources": {"requests": {"memory": "-1Gi"}}}
    ),
    "GPUs by the back door": edited(
        training_job(), {f"{_C}.resources": {"limits": {"nvidia.com/gpu": 8}}}
    ),
    "a node of its own choice": edited(training_job(), {f"{_T}.spec.nodeName": "kubernetes"}),
    "a priority by the back door": edited(
        training_job(), {f"{_T}.spec.priorityClassName": "system-node-critical"}
    ),
    "a queue of another alphabet": edited(training_job(), {"spec.queue": "очередь"}),
    "a time before all times": edited(training_job(), {"spec.work": {"deadline": "-1"}}),
}

TAKEN: Final[dict[str, Manifest]] = {
    "deep": edited(training_job(), {f"{_T}.spec.nothingThatWeKnow": _nested(60)}),
    "wide": edited(
        training_job(), {f"{_T}.metadata.labels": {f"l{n}": "x" * 63 for n in range(100)}}
    ),
    "large": edited(training_job(), {_NOTES: {"a": "x" * 200_000}}),
    "foreign": edited(training_job(), {_NOTES: {"a": "\u202e\u0000ё🙂"}}),
    "many-workers": edited(training_job(), {f"{_W}.max": 4096, f"{_W}.min": 4096}),
    "many-loaders": edited(
        gang_of_roles(),
        {
            f"{_W}.max": 1023,
            "spec.roles.1.replicas": {"min": 1024, "max": 1024},
            "spec.roles.2": {**_LOADERS, "name": "reader"},
            "spec.roles.3": {**_LOADERS, "name": "writer"},
        },
    ),
    "tiny": edited(training_job(), {f"{_W}.gpusPerWorker": "0.0000001"}),
    "thirsty": edited(
        training_job(), {f"{_C}.resources": {"requests": {"cpu": str(_HUGE), "memory": "8Ei"}}}
    ),
    "insatiable": edited(
        training_job(),
        {
            f"{_T}.spec.containers": [
                {"name": f"c{n}", "image": "x", "resources": {"requests": each}}
                for n, each in enumerate(9 * [{"cpu": "9E", "memory": "8Ei"}])
            ]
        },
    ),
    "beyond-all-numbers": edited(
        training_job(), {f"{_C}.resources": {"requests": {"cpu": "1e1000", "memory": "1e9999"}}}
    ),
    "thrifty": edited(
        training_job(), {f"{_C}.resources": {"requests": {"cpu": "1n", "memory": "1m"}}}
    ),
    "fast": edited(training_job(), {"spec.accelerators.0.throughput.0.rate": "1e15"}),
    "slow": edited(training_job(), {"spec.accelerators.0.throughput.0.rate": "0.000000001"}),
    "unknown-type": edited(training_job(), {"spec.accelerators.0.type": "x" * 63}),
    "borrowed-labels": edited(
        training_job(),
        {f"{_T}.metadata.labels": {"plimsoll.dev/job-uid": "somebody-else", "a": "b"}},
    ),
    "costly-query": edited(
        inference_job(),
        {"spec.load": {"queries": [{"name": "Load", "query": '{__name__=~".+"} ' * 100}]}},
    ),
}


def named(name: str) -> Manifest:
    """A job that the API server takes, under the name that says what is odd about it."""
    return edited(TAKEN[name], {"metadata.name": name})

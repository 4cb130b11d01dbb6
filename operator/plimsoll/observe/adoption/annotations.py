"""What a workload's annotations say about its job: fields of a job's spec, by their names.

`plimsoll.dev/checkpoint.interval: 5m` is `spec.checkpoint.interval`. A value is JSON if it can be,
and text otherwise, so a whole object fits into one annotation as well.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from plimsoll.errors import UnusableWorkload
from plimsoll.observe.labels import QUEUE, SETTINGS

Fields = dict[str, Any]

PLANNED: Final = frozenset(
    {"accelerators", "checkpoint", "disruption", "spot", "topology", "work", "workers"}
)
_OF_WORKERS: Final = frozenset({"allowed", "max", "min", "minMemoryPerGPU"})
_MOST_SAID: Final = 16_384
"""Characters of all such annotations of one workload: they are read with each of its versions."""
_ELSEWHERE: Final = {
    "batch": "an adopted job's batch stays as its program has it: remove the annotation",
    "checkpoint.location": "is not passed on to adopted pods: set it in the pod template",
    "faultTolerance": "a Job retries its own pods: set spec.backoffLimit of the Job instead",
    "priorityClassName": "set priorityClassName in the Job's pod template instead",
    "queue": f"set it as the label {QUEUE} instead",
    "suspend": "set spec.suspend of the TrainingJob that stands for the Job instead",
    "workers.gpusPerWorker": "set the GPUs in the Job's pod template instead",
    "workers.template": "change the Job's pod template instead",
}
"""Fields that an adopted job has from elsewhere, or cannot have, and the remedy."""


def fields_said(annotations: Mapping[str, str]) -> Fields:
    """The fields of a job's spec that a workload's annotations give.

    Raises UnusableWorkload, which names the annotation and the remedy.
    """
    paths = [*_paths(annotations)]
    said = sum(len(path) + len(annotations[f"{SETTINGS}{path}"]) for path in paths)
    if said > _MOST_SAID:
        raise UnusableWorkload(
            f"annotations {SETTINGS}…: have {said:,} characters together: say it in {_MOST_SAID:,}"
        )
    fields: Fields = {}
    # The shortest first: an object, then what is said of its fields one by one.
    for path in sorted(paths, key=lambda each: (each.count("."), each)):
        _require_planned(path)
        _put(fields, path, _value(annotations[f"{SETTINGS}{path}"]))
    inner = fields.get("workers")
    if isinstance(inner, dict):
        for name in sorted(cast("Fields", inner)):
            _require_planned(f"workers.{name}")
    _require_elsewhere(fields)
    return fields


def _paths(annotations: Mapping[str, str]) -> Iterator[str]:
    return (key.removeprefix(SETTINGS) for key in annotations if key.startswith(SETTINGS))


def _require_planned(path: str) -> None:
    """Raise UnusableWorkload unless the field may be given by an annotation."""
    for place in (path, path.partition(".")[0]):
        if place in _ELSEWHERE:
            raise _unusable(path, _ELSEWHERE[place])
    first, _, rest = path.partition(".")
    if first not in PLANNED or (first == "workers" and rest and rest not in _OF_WORKERS):
        names = sorted({*PLANNED - {"workers"}, *(f"workers.{each}" for each in _OF_WORKERS)})
        raise _unusable(path, f"is unknown: remove it, or use one of {', '.join(names)}")


def _require_elsewhere(fields: Fields) -> None:
    """Raise UnusableWorkload if an object holds what only its own annotation would be told of."""
    checkpoint = fields.get("checkpoint")
    if isinstance(checkpoint, dict) and "location" in checkpoint:
        raise _unusable("checkpoint", f"location {_ELSEWHERE['checkpoint.location']}")


def _put(fields: Fields, path: str, value: Any) -> None:  # noqa: ANN401 - any JSON
    *outer, last = path.split(".")
    for name in outer:
        inner = fields.setdefault(name, {})
        if not isinstance(inner, dict):
            raise _unusable(path, f"{name} is given as a whole already, and is no object")
        fields = cast("Fields", inner)
    fields[last] = value


def _value(text: str) -> Any:  # noqa: ANN401 - any JSON
    """The JSON that a text is; the text itself if it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return text


def _unusable(path: str, what: str) -> UnusableWorkload:
    return UnusableWorkload(f"annotation {SETTINGS}{path}: {what}")

"""A pod template is refused where it is read, by the path of the field, or else can be used."""

from typing import Any, Final

import pytest
from pydantic import ValidationError

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.refusal_text import LONGEST, why_refused
from plimsoll.api.training_job import TrainingJob
from support.objects.manifests import Manifest, edited, inference_job, training_job

T: Final = "spec.workers.template"
C: Final = f"{T}.spec.containers.0"
C_FIELD: Final = f"{T}.spec.containers[0]"
QUANTITY: Final = "must be a quantity of at least 0"
DEEPEST: Final = 64


def nested(depth: int, *, in_lists: bool = False) -> Any:  # noqa: ANN401 - any JSON
    value: Any = "bottom"
    for _ in range(depth):
        value = [value] if in_lists else {"a": value}
    return value


def read(edits: dict[str, Any]) -> Manifest:
    job = TrainingJob.model_validate(edited(training_job(), edits))
    return job.spec.workers.template.wire()


def refusal(edits: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        read(edits)
    return why_refused(caught.value)


OF_ANOTHER_TYPE: list[tuple[str, Any, str, str]] = [
    (f"{T}.spec.priority", "high", f"{T}.spec.priority", "must be a whole number"),
    (f"{T}.spec.priority", True, f"{T}.spec.priority", "must be a whole number"),
    (f"{T}.spec.priority", 2**31, f"{T}.spec.priority", "must fit into 32 bits"),
    (f"{T}.spec.priority", 5.5, f"{T}.spec.priority", "must be a whole number"),
    (f"{T}.spec.volumes", 7, f"{T}.spec.volumes", "must be a list"),
    (f"{T}.spec.volumes", [{}], f"{T}.spec.volumes[0].name", "is required"),
    (f"{T}.spec.schedulingGates", "x", f"{T}.spec.schedulingGates", "must be a list"),
    (f"{T}.spec.hostNetwork", "true", f"{T}.spec.hostNetwork", "without quotes"),
    (f"{T}.spec.nodeSelector", {"gpu": 1}, f"{T}.spec.nodeSelector.gpu", "quote numbers"),
    (f"{C}.env", 7, f"{C_FIELD}.env", "must be a list"),
    (f"{C}.env", [None], f"{C_FIELD}.env[0]", "must be an object"),
    (f"{C}.env", [{"name": "A", "value": 1}], f"{C_FIELD}.env[0].value", "quote numbers"),
    (f"{C}.volumeMounts", 7, f"{C_FIELD}.volumeMounts", "must be a list"),
    (f"{C}.ports", [{"containerPort": "web"}], f"{C_FIELD}.ports[0].containerPort", "number"),
    (
        f"{C}.livenessProbe",
        {"httpGet": {"port": 1.5}},
        f"{C_FIELD}.livenessProbe.httpGet.port",
        "must be a whole number or a string",
    ),
    (f"{T}.metadata.finalizers", "x", f"{T}.metadata.finalizers", "must be a list"),
    (T, [], T, "must be an object"),
]


@pytest.mark.parametrize(("place", "value", "field", "remedy"), OF_ANOTHER_TYPE)
def test_a_value_of_another_type_is_named_by_its_field(
    place: str,
    value: object,
    field: str,
    remedy: str,
) -> None:
    text = refusal({place: value})
    assert text.startswith(f"{field}: ")
    assert remedy in text


AMOUNTS = {
    "of a container": (f"{C}.resources", f"{C_FIELD}.resources"),
    "of the pod": (f"{T}.spec.resources", f"{T}.spec.resources"),
}


@pytest.mark.parametrize("where", AMOUNTS.values(), ids=AMOUNTS)
@pytest.mark.parametrize("amount", ["much", "", "-1", True, [], {}, "1e99999", "1 Gi"])
def test_an_amount_that_is_none_is_refused(
    where: tuple[str, str],
    amount: Any,  # noqa: ANN401 - any JSON
) -> None:
    place, field = where
    text = refusal({place: {"requests": {"cpu": amount}}})
    assert text.startswith(f"{field}.requests.cpu: {QUANTITY}")


@pytest.mark.parametrize("where", AMOUNTS.values(), ids=AMOUNTS)
def test_a_fraction_is_to_be_quoted(where: tuple[str, str]) -> None:
    place, field = where
    text = refusal({place: {"requests": {"cpu": 0.5}}})
    assert text.startswith(f"{field}.requests.cpu: ")
    assert "put it in quotes" in text


@pytest.mark.parametrize("where", AMOUNTS.values(), ids=AMOUNTS)
@pytest.mark.parametrize("amount", [0, 7, "0.5", "1e1000", "9E", "8Ei", "Gi", "1e-1000"])
def test_what_kubernetes_takes_for_an_amount_is_taken(
    where: tuple[str, str], amount: int | str
) -> None:
    read({where[0]: {"requests": {"cpu": amount}}})


@pytest.mark.parametrize("depth", [DEEPEST + 1, 255, 1000, 100_000])
@pytest.mark.parametrize("place", [f"{T}.metadata.newer", f"{T}.spec.newer", f"{C}.newer", T])
@pytest.mark.parametrize("in_lists", [False, True])
def test_what_is_nested_too_deep_is_refused(place: str, depth: int, *, in_lists: bool) -> None:
    text = refusal({place: nested(depth, in_lists=in_lists)})
    assert text.startswith(f"{T}: is nested more than {DEEPEST} levels deep: remove")


def test_newer_fields_are_kept_as_they_are_written() -> None:
    newer = {"a": nested(50), "b": [1, "two", None, {"c": 2.5}]}
    kept = read({f"{T}.spec.newer": newer, f"{C}.newer": newer, f"{C}.env": []})
    container = kept["spec"]["containers"][0]
    assert kept["spec"]["newer"] == container["newer"] == newer
    assert container["env"] == []


def test_a_null_is_as_good_as_nothing() -> None:
    nulls = {f"{C}.{name}": None for name in ("env", "volumeMounts", "resources", "ports")}
    nulls |= {f"{T}.spec.{name}": None for name in ("volumes", "tolerations", "affinity")}
    assert read({**nulls, f"{T}.metadata": {"creationTimestamp": None}}) == (
        {"metadata": {}} | read({})
    )
    assert read({f"{T}.spec.affinity": {"nodeAffinity": None}})["spec"]["affinity"] == {}


def test_the_template_of_a_role_is_told_apart_from_others() -> None:
    wrong = edited(inference_job(), {"spec.roles.0.template.spec.volumes": 7})
    with pytest.raises(ValidationError) as caught:
        InferenceJob.model_validate(wrong)
    text = why_refused(caught.value)
    assert text == "spec.roles[0].template.spec.volumes: must be a list; it is 7"


def test_a_template_that_is_wrong_everywhere_is_refused_in_a_line() -> None:
    wrong = {f"field-{number}": 7 for number in range(100_000)}
    text = refusal({f"{T}.metadata.labels": wrong})
    assert len(text) <= LONGEST
    assert text.endswith("and 97 more")

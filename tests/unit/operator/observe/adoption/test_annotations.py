import pytest

from plimsoll.errors import UnusableWorkload
from plimsoll.observe.adoption.annotations import fields_said
from support.objects.batch_jobs import QUEUE


def said(**annotations: str) -> dict[str, object]:
    """The fields that annotations give; `__` stands for a dot in their names."""
    named = {f"plimsoll.dev/{key.replace('__', '.')}": text for key, text in annotations.items()}
    return fields_said({"example.com/other": "x", **named})


def test_a_field_is_named_by_its_path_and_may_be_text_or_json() -> None:
    assert said(checkpoint__interval="5m") == {"checkpoint": {"interval": "5m"}}
    assert said(workers__max="8") == {"workers": {"max": 8}}
    assert said(spot__allowed="true") == {"spot": {"allowed": True}}
    assert said(topology='{"required": "rack"}') == {"topology": {"required": "rack"}}
    assert said(work__amount="1.5") == {"work": {"amount": 1.5}}
    assert said() == {}


def test_an_object_and_its_fields_may_be_given_side_by_side() -> None:
    found = said(checkpoint='{"interval": "5m", "saveSeconds": 9}', checkpoint__interval="1m")
    assert found == {"checkpoint": {"interval": "1m", "saveSeconds": 9}}


@pytest.mark.parametrize("text", ["NaN", "[" * 5000, "1e999x", "{", "\ud800"])
def test_what_is_no_json_is_text(text: str) -> None:
    assert said(work__amount=text) == {"work": {"amount": text}}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("colour", "red", "annotation plimsoll.dev/colour: is unknown: remove it, or use one of"),
        ("queue", "research", f"set it as the label {QUEUE} instead"),
        ("batch", "{}", "stays as its program has it: remove the annotation"),
        ("batch.size", "8", "annotation plimsoll.dev/batch.size: an adopted job's batch stays"),
        ("suspend", "true", "set spec.suspend of the TrainingJob"),
        ("faultTolerance.maxRestarts", "1", "set spec.backoffLimit of the Job instead"),
        ("priorityClassName", "high", "set priorityClassName in the Job's pod template"),
        ("workers.gpusPerWorker", "8", "set the GPUs in the Job's pod template"),
        ("workers.template", "{}", "change the Job's pod template instead"),
        ("workers.colour", "red", "annotation plimsoll.dev/workers.colour: is unknown"),
        ("workers", '{"template": {}}', "change the Job's pod template instead"),
        ("checkpoint.location", "s3://b", "set it in the pod template"),
        ("checkpoint", '{"location": "s3://b"}', "set it in the pod template"),
        ("workloadRef", "{}", "annotation plimsoll.dev/workloadRef: is unknown"),
    ],
)
def test_what_cannot_be_said_by_an_annotation_names_it_and_the_remedy(
    name: str, text: str, words: str
) -> None:
    with pytest.raises(UnusableWorkload, match=r"plimsoll\.dev") as error:
        fields_said({f"plimsoll.dev/{name}": text})
    assert words in str(error.value)


def test_no_more_is_read_than_anybody_needs() -> None:
    with pytest.raises(UnusableWorkload, match="characters together: say it in 16,384"):
        said(accelerators="[" + "{}," * 10_000 + "{}]")


def test_a_field_of_what_is_no_object_is_refused() -> None:
    with pytest.raises(UnusableWorkload, match="checkpoint is given as a whole already"):
        said(checkpoint="5m", checkpoint__interval="5m")

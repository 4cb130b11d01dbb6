"""Why an object is refused fits into a line that names the fields and says what to do."""

from typing import Any

import pytest
from pydantic import ValidationError

from plimsoll.api.refusal_text import LONGEST, why_refused
from plimsoll.api.training_job import TrainingJob
from support.objects.manifests import GONE, edited, training_job

WORKERS = "spec.workers"
ENVIRONMENT = {f"key-{number}": 7 for number in range(90)}


def said(edits: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as refusal:
        TrainingJob.model_validate(edited(training_job(), edits))
    return why_refused(refusal.value)


def test_a_field_is_named_by_its_path_with_what_it_should_be_and_is() -> None:
    text = said({f"{WORKERS}.min": "many"})
    assert text.startswith("spec.workers.min: should be a valid integer")
    assert text.endswith("; it is 'many'")


def test_a_rule_says_its_remedy() -> None:
    text = said({"spec.accelerators.0.type": "an H100"})
    assert text.startswith("spec.accelerators[0].type: must be a node label value, such as")


def test_what_is_missing_is_named() -> None:
    assert said({f"{WORKERS}.template": GONE}) == "spec.workers.template: is required"


def test_a_list_is_not_called_short_for_its_wrong_items() -> None:
    text = said({"spec.accelerators": [7]})
    assert text.startswith("spec.accelerators[0]: ")
    assert "needs at least" not in text


def test_of_many_the_first_three_are_named_and_the_others_counted() -> None:
    text = said({f"{WORKERS}.template.metadata": {"labels": ENVIRONMENT}})
    assert text.count("must be a string: quote numbers, true and false; it is 7") == 3
    assert "spec.workers.template.metadata.labels[key-0]: " in text
    assert text.endswith("; and 87 more")


@pytest.mark.parametrize("length", [10, 1000, 100_000])
def test_a_refusal_is_one_short_line_whatever_is_wrong(length: int) -> None:
    labels = {"\n" * length: 7, "\u202e" * length: 7}
    for edits in (
        {f"{WORKERS}.min": 16**length},
        {"spec.accelerators.0.type": "\n" * length},
        {f"{WORKERS}.template.metadata": {"labels": labels}},
    ):
        text = said(edits)
        assert len(text) <= LONGEST
        assert text.isprintable()


def test_what_finds_no_room_is_counted() -> None:
    labels = {"k" * 1000: 7, "l": 7}
    text = said({f"{WORKERS}.template.metadata": {"labels": labels}})
    assert text.endswith("; and 1 more")

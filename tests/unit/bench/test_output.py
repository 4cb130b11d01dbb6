"""No benchmark prints success over what is no number."""

import json
import math

import pytest

from plimsoll_bench import output

FIGURES = {"cost": 1.5, "best": None, "frontier": {10: [{"loss": 0.0}, {"loss": 2}]}}


def test_figures_are_printed_as_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json(FIGURES)
    expected = {"cost": 1.5, "best": None, "frontier": {"10": [{"loss": 0.0}, {"loss": 2}]}}
    assert json.loads(capsys.readouterr().out) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_no_number_is_null_and_ends_the_program_with_an_error(
    value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {**FIGURES, "frontier": {10: [{"loss": 0.0}, {"loss": value}]}, "cost": value}
    with pytest.raises(SystemExit) as ended:
        output.print_json(figures)
    assert ended.value.code == "not a finite number: cost, frontier.10.1.loss"
    printed = json.loads(capsys.readouterr().out)
    assert printed["cost"] is printed["frontier"]["10"][1]["loss"] is None
    assert printed["frontier"]["10"][0] == {"loss": 0.0}

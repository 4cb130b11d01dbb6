import pytest

from plimsoll.cli.output.table import Column, aligned, annotated

LINES = aligned((Column("NAME"), Column("N", is_number=True)), [("short", "1"), ("longer", "100")])
WHY = "needs 8 × NVIDIA-L4 on node-1"


def test_texts_are_left_and_numbers_are_right_in_their_columns() -> None:
    assert LINES == ["NAME      N", "short     1", "longer  100"]


def test_texts_stand_beside_their_rows_where_there_is_room() -> None:
    assert [*annotated(LINES, ["WHY", WHY, ""], 80)] == [
        "NAME      N  WHY",
        "short     1  needs 8 × NVIDIA-L4 on node-1",
        "longer  100",
    ]


def test_texts_stand_under_their_rows_where_there_is_none() -> None:
    assert [*annotated(LINES, ["WHY", WHY, ""], 30)] == [
        "NAME      N",
        "    WHY",
        "short     1",
        "    needs 8 × NVIDIA-L4 on",
        "    node-1",
        "longer  100",
    ]


def test_further_lines_of_a_text_stand_below_its_first() -> None:
    first, second = [*annotated(["NAME"], [" ".join(["word"] * 20)], 70)]
    assert first.startswith("NAME  word word")
    assert second.startswith("      word")


@pytest.mark.parametrize("width", range(12, 40))
def test_a_name_and_an_amount_with_its_type_are_never_broken(width: int) -> None:
    text = "\n".join(annotated(["x"], [WHY], width))
    assert "8 × NVIDIA-L4" in text
    assert "node-1" in text


def test_without_a_width_nothing_is_broken() -> None:
    assert [*annotated(["x"], [WHY * 20], None)] == [f"x  {WHY * 20}"]

"""Quantities are read exactly as Kubernetes reads them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.quantities import (
    QuantityError,
    parse_quantity,
    quantity_text,
    thousandths,
    units,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (8, "8"),
        ("8", "8"),
        ("0.25", "0.25"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+3", "3"),
        ("-1.5", "-1.5"),
        ("500m", "0.5"),
        ("250u", "0.00025"),
        ("1n", "0.000000001"),
        ("2k", "2000"),
        ("1.5M", "1500000"),
        ("64Gi", "68719476736"),
        ("1Ki", "1024"),
        ("1E", "1000000000000000000"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("25e-2", "0.25"),
    ],
)
def test_a_quantity_has_its_exact_value(text: str | int, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "one", "1GB", "1gi", "1K", "1_000", "--1", "1e", ".", "0x10", "∞", "\u0661"],
)
def test_what_kubernetes_refuses_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="is no quantity: write a number"):
        parse_quantity(text)


@given(st.decimals(places=9, min_value=1 - 2**63, max_value=2**63 - 1))
def test_a_quantity_survives_being_written_and_read(value: Decimal) -> None:
    assert parse_quantity(quantity_text(value)) == value


@given(st.integers(min_value=0, max_value=10**9))
def test_milli_units_are_thousandths(count: int) -> None:
    assert thousandths(parse_quantity(f"{count}m")) == count
    assert thousandths(parse_quantity(count)) == count * 1000


def test_what_is_finer_than_a_unit_is_rounded_up() -> None:
    assert thousandths(parse_quantity("1u")) == 1
    assert units(parse_quantity("1500m")) == 2
    assert units(parse_quantity("1Ki")) == 1024

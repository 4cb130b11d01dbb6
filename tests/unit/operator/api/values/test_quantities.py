"""Quantities are read exactly as Kubernetes reads them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.values.quantities import (
    LARGEST,
    millis,
    parse_quantity,
    quantity_text,
    thousandths,
    units,
)
from plimsoll.errors import InvalidQuantity


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
        ("1e-400", "1e-9"),
        ("0.00000000001", "1e-9"),
        ("-1e-400", "-1e-9"),
        ("0e9999", "0"),
        ("1e4294967296", "1"),
        ("Gi", "0"),
        (".", "0"),
        ("-", "0"),
        ("E3", "0"),
    ],
)
def test_a_quantity_has_its_exact_value(text: str | int, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


NO_QUANTITIES = "one 1GB 1gi 1KiB 1K 1_000 --1 1e e 1e3Ki 1e1e1 1.2.3 0x10 ∞ \u0661"


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1\n", "1 Gi", "1e" + "9" * 20, *NO_QUANTITIES.split()]
)
def test_what_kubernetes_refuses_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="is not a quantity: write a number"):
        parse_quantity(text)


@pytest.mark.parametrize(
    "text", ["1e19", "1e1000", "1e2147483647", "10E", "9Ei", "9" * 32, "9" * 100_000]
)
def test_what_is_beyond_the_range_of_kubernetes_is_the_end_of_it(text: str) -> None:
    assert parse_quantity(text) == 2**63 - 1
    assert parse_quantity(f"-{text}") == 1 - 2**63


@given(st.decimals(places=9, min_value=1 - 2**63, max_value=2**63 - 1))
def test_a_quantity_survives_being_written_and_read(value: Decimal) -> None:
    assert parse_quantity(quantity_text(value)) == value


@given(st.integers(min_value=0, max_value=10**9))
def test_milli_units_are_thousandths(count: int) -> None:
    assert thousandths(parse_quantity(f"{count}m")) == count
    assert thousandths(parse_quantity(count)) == count * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        (8, 8),
        ("64Gi", 64 * 2**30),
        ("1.5Gi", 3 * 2**29),
        ("1E", 10**18),
        ("100m", 1),
        ("1500m", 2),
        ("-1500m", -1),
        ("1n", 1),
        ("1e-3", 1),
    ],
)
def test_whole_units_are_rounded_up(text: str | int, expected: int) -> None:
    assert units(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1000), ("250m", 250), ("0.1", 100), ("1.0005", 1001), ("100u", 1), ("2k", 2_000_000)],
)
def test_thousandths_are_rounded_up(text: str, expected: int) -> None:
    assert millis(text) == expected


@pytest.mark.parametrize("text", ["2Ei", "1e30", "1e1000", "9" * 100_000])
def test_what_is_more_than_64_bits_hold_is_the_largest_number(text: str) -> None:
    assert units(text) == millis(text) == LARGEST
    assert units(f"-{text}") == -LARGEST


@pytest.mark.parametrize("text", ["1e-330", "0.0000000001", "1e-9"])
def test_what_is_finer_than_kubernetes_knows_is_a_nanounit(text: str) -> None:
    assert parse_quantity(text) == Decimal("1e-9")
    assert parse_quantity(f"-{text}") == Decimal("-1e-9")

import pytest

from plimsoll.errors import InvalidQuantity
from plimsoll.kube.quantity import millis, units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("8", 8),
        (8, 8),
        ("1k", 1000),
        ("1Ki", 1024),
        ("64Gi", 64 * 2**30),
        ("1.5Gi", 3 * 2**29),
        ("2Ti", 2 * 2**40),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("1e-3", 1),
        ("100m", 1),
        ("1500m", 2),
        ("0.1", 1),
        (".5", 1),
        ("5.", 5),
        ("+3", 3),
        ("-1500m", -1),
        ("129e6", 129_000_000),
        ("1n", 1),
    ],
)
def test_units_are_exact_and_rounded_up(text: str | int, expected: int) -> None:
    assert units(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1000), ("250m", 250), ("0.1", 100), ("1.0005", 1001), ("100u", 1), ("2k", 2_000_000)],
)
def test_millis_are_thousandths_rounded_up(text: str, expected: int) -> None:
    assert millis(text) == expected


@pytest.mark.parametrize(
    "text", ["", "Gi", "1 Gi", "1gi", "1KiB", "one", "1e", "1e999999", "--1", "0x10", "1e3Ki", "٣"]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        units(text)

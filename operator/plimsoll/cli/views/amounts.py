"""Numbers of GPUs as commands show them: whole unless parts of devices are in use."""

from collections.abc import Iterable

from plimsoll.api.values.quantities import parse_quantity
from plimsoll.errors import InvalidQuantity

_DIGITS = 3


def number(amount: str | int | None) -> float:
    """The value of a quantity; 0 for one that cannot be read, as an old API may hold."""
    try:
        return whole(float(parse_quantity(amount or 0)))
    except InvalidQuantity:
        return 0


def whole(value: float) -> float:
    """The same number, without a fraction if it has none."""
    rounded = round(value, _DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded


def total(values: Iterable[float]) -> float:
    """The sum of such numbers."""
    return whole(sum(values))


def shown(value: float | None) -> str:
    """The number in a table."""
    return "-" if value is None else f"{value:,}"

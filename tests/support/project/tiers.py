"""Which cases of a test are in the quick tier, where one stands for the others."""

from collections.abc import Iterable

import pytest


def quick_first(cases: Iterable[object], quick: int = 1) -> list[object]:
    """The parameters of a test, of which all but the first few are in the slow tier."""
    return [
        case if number < quick else pytest.param(case, marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]

"""Selectors are found by what they match, as if each had been asked."""

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.observe.eligibility.selection import Selectors

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))


@given(st.lists(LABELS, max_size=8), LABELS)
def test_those_match_all_of_whose_labels_are_there_in_their_order(
    selectors: list[dict[str, str]], labels: dict[str, str]
) -> None:
    named = [(f"s{place}", selector) for place, selector in enumerate(selectors)]
    expected = tuple(name for name, selector in named if selector.items() <= labels.items())
    assert Selectors(named).matching(labels) == expected

import pytest

from plimsoll.observe.kept import Kept, changed, same

ONE, OTHER = [1], [1]
"""Equal, but not the same."""


@pytest.mark.parametrize(
    ("some", "others", "are_same"),
    [
        ((), [], True),
        ((ONE, OTHER), [ONE, OTHER], True),
        ((ONE,), (OTHER,), False),
        ((ONE, OTHER), (OTHER, ONE), False),
        ((ONE,), (ONE, ONE), False),
    ],
)
def test_sequences_are_the_same_if_they_hold_the_same_objects_in_order(
    some: list[object], others: list[object], *, are_same: bool
) -> None:
    assert same(some, others) is are_same


def test_what_was_made_is_kept_while_all_that_it_was_made_of_is_the_same() -> None:
    kept, made = Kept[int](), iter(range(9))
    found = [
        kept.of(lambda: next(made), *given)
        for given in (
            ((ONE,), (OTHER,)),
            ([ONE], [OTHER]),
            ((ONE,), (ONE,)),
            ((ONE,), (OTHER,)),
        )
    ]
    assert found == [0, 0, 1, 2]


def test_what_could_not_be_made_is_tried_again() -> None:
    kept = Kept[int]()
    assert kept.of(lambda: 1, (ONE,)) == 1
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept.of(lambda: 1 // 0, (OTHER,))
    assert kept.of(lambda: 2, (ONE,)) == 1


def test_keys_have_changed_that_are_new_or_gone_or_have_another_object() -> None:
    before = {"same": ONE, "gone": ONE, "other": ONE}
    assert changed(before, before) == set()
    assert changed(before, {"same": ONE, "other": OTHER, "new": ONE}) == {"gone", "other", "new"}

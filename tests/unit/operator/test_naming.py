from plimsoll.naming import first_few


def test_the_first_few_are_named_and_the_others_counted() -> None:
    assert first_few([]) == ""
    assert first_few(["a", "b", "c"]) == "a, b, c"
    assert first_few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert first_few(["a", "b"], most=1) == "a and 1 more"

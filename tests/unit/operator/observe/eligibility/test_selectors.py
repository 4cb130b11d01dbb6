import time

import pytest

from plimsoll.observe.eligibility.selectors import matches, selector_of

PODS = {
    "web": {"app": "web", "tier": "a"},
    "canary": {"app": "web", "tier": "b", "canary": ""},
    "other": {"app": "other"},
}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("app=web", ["web", "canary"]),
        ("app==web,tier=a", ["web"]),
        ("app=web,!canary", ["web"]),
        ("canary", ["canary"]),
        ("tier in (a, c),app=web", ["web"]),
        ("tier notin (a,c)", ["canary", "other"]),
        ("app!=web", ["other"]),
        ("canary=", ["canary"]),
    ],
)
def test_a_selector_means_what_kubectl_means_by_it(text: str, meant: list[str]) -> None:
    found = [name for name, labels in PODS.items() if matches(selector_of(text), labels)]
    assert found == meant


@pytest.mark.parametrize("text", ["a," * 50_000, "a in (" + "b," * 50_000, "," * 50_000])
def test_a_long_selector_is_read_in_one_pass(text: str) -> None:
    """Looking ahead from each comma to the end took the square of its length: minutes."""
    started = time.process_time()
    selector_of(text)
    assert time.process_time() - started < 5

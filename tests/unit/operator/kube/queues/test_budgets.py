import pytest

from plimsoll.kube.queues.budgets import Budgets


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def spent(budgets: Budgets[str], key: str, most: int = 100) -> int:
    """How often one can be spent now."""
    for number in range(most):
        if not budgets.has_left(key):
            return number
        budgets.spend(key)
    return most


def test_so_much_is_had_at_once_and_so_much_a_second_after_that() -> None:
    clock = Clock()
    budgets = Budgets[str](5, 2, clock=clock)
    assert spent(budgets, "a") == 5
    clock.now += 1
    assert spent(budgets, "a") == 2
    clock.now += 60
    assert spent(budgets, "a") == 5


def test_each_has_its_own() -> None:
    budgets = Budgets[str](5, 2, clock=Clock())
    assert (spent(budgets, "a"), spent(budgets, "b")) == (5, 5)


def test_to_ask_costs_nothing() -> None:
    budgets = Budgets[str](1, 1, clock=Clock())
    assert all(budgets.has_left("a") for _ in range(100))


@pytest.mark.parametrize("keys", [1, 10])
def test_of_many_who_spend_the_last_are_remembered(keys: int) -> None:
    budgets = Budgets[str](1, 1, keys=keys, clock=Clock())
    for number in range(100):
        budgets.spend(f"{number}")
    known = [number for number in range(100) if not budgets.has_left(f"{number}")]
    assert known == list(range(100 - keys, 100))

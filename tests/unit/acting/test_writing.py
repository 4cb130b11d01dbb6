import pytest

from plimsoll.acting.writing import rest_seconds


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.5), (1, 1.0), (4, 8.0), (5, 8.0), (100_000, 8.0)]
)
def test_the_rest_after_a_failure_grows_up_to_an_end(failures: int, seconds: float) -> None:
    assert rest_seconds(failures) == seconds

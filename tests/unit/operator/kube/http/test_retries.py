import pytest

from plimsoll.errors import ApiError, Conflict, NotFound, TooManyRequests, Unavailable
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.http.transport import Limits, Request, retry_seconds

LIMITS = Limits(attempts=4, first_retry_seconds=0.1, longest_retry_seconds=5)
READ = Request("get", "GET", PODS.named("p", "ns"))
WRITE = Request("create", "POST", PODS.within("ns"))


def waits(request: Request, error: ApiError) -> list[float | None]:
    return [retry_seconds(request, error, attempt=n, limits=LIMITS) for n in (1, 2, 3, 4)]


def test_a_read_is_repeated_with_growing_waits_and_then_given_up() -> None:
    assert waits(READ, Unavailable("connection reset")) == [0.1, 0.2, 0.4, None]


def test_a_write_is_not_repeated_when_it_may_have_been_carried_out() -> None:
    assert waits(WRITE, Unavailable("connection reset")) == [None] * 4


@pytest.mark.parametrize("request_", [READ, WRITE])
@pytest.mark.parametrize(
    "error",
    [
        TooManyRequests("slow down", retry_after_seconds=2),
        Unavailable("starting", status=503, retry_after_seconds=2),
    ],
)
def test_everything_is_repeated_when_the_server_says_when(
    request_: Request, error: ApiError
) -> None:
    assert waits(request_, error) == [2, 2, 2, None]


def test_no_wait_is_longer_than_the_limit() -> None:
    error = TooManyRequests("slow down", retry_after_seconds=600)
    assert retry_seconds(WRITE, error, attempt=1, limits=LIMITS) == 5


@pytest.mark.parametrize("error", [NotFound("no"), Conflict("no")])
def test_an_answer_is_an_answer(error: ApiError) -> None:
    assert waits(READ, error) == [None] * 4

import base64
import json
import math

import pytest

from plimsoll.kube.token_reviews import (
    PodIdentity,
    TokenReviewStatus,
    UserInfo,
    bound_pod,
    expiry,
)

POD = "authentication.kubernetes.io/pod-name"
UID = "authentication.kubernetes.io/pod-uid"
BOUND = {POD: ("train-worker-0",), UID: ("uid",)}
ACCOUNT = "system:serviceaccount:team:default"


def status(
    *,
    authenticated: bool = True,
    audiences: tuple[str, ...] = ("plimsoll.dev",),
    username: str = ACCOUNT,
    extra: dict[str, tuple[str, ...]] = BOUND,
) -> TokenReviewStatus:
    return TokenReviewStatus(authenticated, audiences, UserInfo(username, extra))


def test_a_token_made_for_us_and_bound_to_a_pod_speaks_for_that_pod() -> None:
    assert bound_pod(status()) == PodIdentity("team", "train-worker-0", "uid")


@pytest.mark.parametrize(
    "refused",
    [
        status(authenticated=False),
        status(audiences=("https://kubernetes.default.svc",)),
        status(audiences=()),
        status(extra={}),
        status(extra={POD: ("train-worker-0",)}),
        status(username="system:node:node-0"),
    ],
    ids=[
        "not valid",
        "for another",
        "of a server without audiences",
        "not bound",
        "bound by name only",
        "of no service account",
    ],
)
def test_every_other_token_speaks_for_nobody(refused: TokenReviewStatus) -> None:
    assert bound_pod(refused) is None


def token(claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"header.{body}.signature"


def test_a_token_says_itself_when_it_ends() -> None:
    assert expiry(token({"exp": 1_800_000_000, "sub": "somebody"})) == 1_800_000_000


@pytest.mark.parametrize(
    "odd", ["", "a.b.c", "a.\u00e9.c", token({}), token([]), token({"exp": "x"})]
)
def test_what_does_not_say_when_it_ends_is_left_to_the_api_server(odd: str) -> None:
    assert expiry(odd) == math.inf

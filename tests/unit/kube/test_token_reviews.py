import pytest

from plimsoll.kube.token_reviews import PodIdentity, TokenReviewStatus, UserInfo, bound_pod

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

"""What a cluster refuses, as an error that says what to do."""

from collections.abc import Generator
from contextlib import contextmanager

from plimsoll.errors import (
    ApiError,
    BadInput,
    Forbidden,
    NoCluster,
    Unauthorized,
    Unavailable,
)


@contextmanager
def explained(
    otherwise: str = "", *, error_type: type[BadInput] = BadInput, right: str = "list"
) -> Generator[None]:
    """Turn what a cluster refuses into BadInput, which says what to do, `or ` what else to do.

    `right` is the verb of the right that is missing where access is denied.
    """
    try:
        yield
    except (NoCluster, ApiError) as error:
        raise error_type([_said(error, otherwise, right)]) from error


def _said(error: NoCluster | ApiError, otherwise: str, right: str) -> str:
    also = f", {otherwise}" if otherwise else ""
    match error:
        case NoCluster():
            return f"no cluster configured: {error}: name one with --kubeconfig and --context{also}"
        case Forbidden():
            return f"the cluster denies access: {error}: get permission to {right}{also}"
        case Unauthorized():
            return f"the cluster rejects your credentials: {error}: log in again{also}"
        case Unavailable():
            return f"the cluster does not respond: {error}: check that kubectl reaches it{also}"
        case _:
            remedy = otherwise.removeprefix("or ")
            return f"the cluster refuses the request: {error}" + (f": {remedy}" if remedy else "")

"""What an API server says of the kinds that it serves."""

from plimsoll.kube.objects.objects import Wire


class ServedKind(Wire, frozen=True):
    """A kind under the plural name of its resource; subresources have a slash in theirs."""

    name: str
    kind: str = ""
    namespaced: bool = False


class ServedKinds(Wire, frozen=True):
    """The kinds of a group in one version."""

    resources: tuple[ServedKind, ...] = ()

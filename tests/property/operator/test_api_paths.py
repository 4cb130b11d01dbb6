"""Whatever names are put into a path of the API, it leads just there."""

from urllib.parse import unquote

from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from plimsoll.errors import UnsafePath
from plimsoll.kube.http.resources import Resource, group_version

SERVER = "https://10.0.0.1:6443/clusters/a"
NASTY = (
    "..",
    ".",
    "",
    "a/b",
    "../api/v1/pods",
    "%2e%2e",
    "%2F",
    "?watch=1",
    "#",
    "\\",
    "é",
    "\ud800",
)
names = st.one_of(st.sampled_from(NASTY), st.text(max_size=12))


def segments_asked_for(url: str) -> list[str]:
    """What the server gets, segment by segment, after its own address."""
    target = URL(SERVER + url, encoded=True).raw_path_qs
    assert "?" not in target
    assert "#" not in target
    # Unquoted first, as API servers do it.
    return unquote(target.removeprefix("/clusters/a/")).split("/")


@given(group=names, version=names, plural=names, namespace=names, name=names, below=names)
@example(group="apps", version="v1", plural="deployments", namespace="a", name="b", below="scale")
def test_a_path_has_just_the_segments_that_are_meant(  # noqa: PLR0913, PLR0917 - all of a path
    group: str, version: str, plural: str, namespace: str, name: str, below: str
) -> None:
    try:
        path = Resource(group, version, plural).named(name, namespace, below)
    except UnsafePath:
        needed, may_lack = (version, plural, namespace, name), (group, below)
        assert not all(needed) or any(map(is_no_segment, (*needed, *may_lack)))
        return
    root = ["apis", group, version] if group else ["api", version]
    whole = [*root, "namespaces", namespace, plural, name, *([below] if below else [])]
    assert segments_asked_for(path.url) == whole


@given(group=names, version=names)
def test_what_a_group_has_is_asked_of_that_group(group: str, version: str) -> None:
    try:
        path = group_version(group, version)
    except UnsafePath:
        return
    root = ["apis", group, version] if group else ["api", version]
    assert segments_asked_for(path.url) == root


def is_no_segment(name: str) -> bool:
    """Whether Kubernetes has no such names, or it is no text at all."""
    has_no_text = any("\ud800" <= letter <= "\udfff" for letter in name)
    return name in {".", ".."} or bool({"/", "%"} & set(name)) or has_no_text

import re
from collections.abc import Iterator
from pathlib import Path

from support.project.pages import ROOT
from support.project.rights import cluster_rules, granted, own_rules

PAGE = ROOT / "docs" / "guides" / "security.md"
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def listed_in(page: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each resource with its verbs and the reason; a row may be about several."""
    for resources, verbs, why in ROW.findall(page.read_text()):
        for resource in re.findall(r"`([^`]+)`", resources):
            yield resource, verbs.strip(), why.strip()


def test_each_right_of_the_operator_is_listed_with_its_reason() -> None:
    verbs: dict[str, set[str]] = {}
    for right in granted([*cluster_rules(), *own_rules()]):
        resource, _, part = right.resource.partition("/")
        name = resource + f".{right.group}" * bool(right.group) + f"/{part}" * bool(part)
        verbs.setdefault(name, set()).add(right.verb)
    listed = list(listed_in(PAGE))
    granted_verbs = {name: ", ".join(sorted(each)) for name, each in verbs.items()}
    assert granted_verbs == {name: each for name, each, _ in listed}
    assert len(listed) == len(granted_verbs)
    assert all(why for _, _, why in listed)

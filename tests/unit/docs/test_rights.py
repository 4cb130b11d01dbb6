import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.project.pages import ROOT
from support.project.rights import (
    cluster_rules,
    console_rules,
    consoles_own_rules,
    granted,
    own_rules,
)

PAGE = ROOT / "docs" / "guides" / "security.md"
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
RULES = {
    "Rights": [*cluster_rules(), *own_rules()],
    "Rights of the console": [*console_rules(), *consoles_own_rules()],
}


def listed_in(page: Path, section: str) -> Iterator[tuple[str, str, str]]:
    """Yield each resource with its verbs and the reason; a row may be about several."""
    _, _, rest = page.read_text().partition(f"\n## {section}\n")
    for resources, verbs, why in ROW.findall(rest.partition("\n## ")[0]):
        for resource in re.findall(r"`([^`]+)`", resources):
            yield resource, verbs.strip(), why.strip()


@pytest.mark.parametrize(("section", "rules"), RULES.items(), ids=RULES.keys())
def test_each_right_is_listed_with_its_reason(section: str, rules: list[dict[str, Any]]) -> None:
    verbs: dict[str, set[str]] = {}
    for right in granted(rules):
        resource, _, part = right.resource.partition("/")
        name = resource + f".{right.group}" * bool(right.group) + f"/{part}" * bool(part)
        verbs.setdefault(name, set()).add(right.verb)
    listed = list(listed_in(PAGE, section))
    granted_verbs = {name: ", ".join(sorted(each)) for name, each in verbs.items()}
    assert granted_verbs == {name: each for name, each, _ in listed}
    assert len(listed) == len(granted_verbs)
    assert all(why for _, _, why in listed)

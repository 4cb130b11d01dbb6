import re

from pages import ROOT, rows
from rights import granted, rules_in

FILES = ROOT / "charts" / "plimsoll" / "files"


def test_each_right_of_the_operator_is_listed_with_its_reason() -> None:
    rules = [
        rule for name in ("cluster-role", "role") for rule in rules_in(FILES / f"{name}-rules.yaml")
    ]
    verbs: dict[str, set[str]] = {}
    for right in granted(rules):
        resource, _, part = right.resource.partition("/")
        name = resource + f".{right.group}" * bool(right.group) + f"/{part}" * bool(part)
        verbs.setdefault(name, set()).add(right.verb)
    listed = dict(rows(ROOT / "docs" / "security.md"))
    assert {name: ", ".join(sorted(each)) for name, each in verbs.items()} == {
        name: cells[0] for name, cells in listed.items()
    }
    assert all(cells[1] for cells in listed.values())


def test_what_the_security_page_says_is_shown_by_tests_that_there_are() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "e2e").rglob("test_*.py")]
    tests = "".join(file.read_text() for file in files)
    named = re.findall(r"`(test_\w+)`", page)
    assert named
    assert [name for name in named if f"def {name}(" not in tests] == []
    paths = re.findall(r"`(tests/[\w/.]+)`", page)
    assert [path for path in paths if not (ROOT / path).exists()] == []

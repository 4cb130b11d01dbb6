from support.project.pages import ROOT, rows
from support.project.rights import granted, rules_in

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

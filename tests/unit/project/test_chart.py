import json
import re
import tomllib
from typing import Any

import yaml

from plimsoll.settings import Settings
from support.project.pages import ROOT

CHART = ROOT / "charts" / "plimsoll"
DEPLOYMENT = (CHART / "templates" / "deployment.yaml").read_text()


def test_the_crds_are_those_of_the_project() -> None:
    linked = {file.name: file.read_text() for file in (CHART / "files" / "crds").glob("*.yaml")}
    assert linked == {file.name: file.read_text() for file in (ROOT / "crds").glob("*.yaml")}
    assert linked


def test_the_chart_the_program_and_the_changes_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == project["version"]
    # What is not released yet says which release it will be in.
    newest = r"^(?:The next release is|##) (\d+\.\d+\.\d+)"
    first = re.search(newest, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first
    assert first[1] == project["version"]


def test_the_definitions_are_of_the_programs_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [file.read_text() for file in (ROOT / "crds").glob("*.yaml")]
    found = [yaml.load(text, yaml.CSafeLoader) for text in texts]
    labels = {each["metadata"]["labels"]["app.kubernetes.io/version"] for each in found}
    assert labels == {project["version"]}


def test_the_deployment_sets_what_there_is_to_set() -> None:
    variables = set(re.findall(r"PLIMSOLL_[A-Z_]+", DEPLOYMENT))
    assert variables
    assert variables <= {f"PLIMSOLL_{name.upper()}" for name in Settings.model_fields}


def test_the_rights_are_for_the_lease_that_is_used() -> None:
    rules = yaml.safe_load((CHART / "files" / "role-rules.yaml").read_text())
    names = {name for rule in rules for name in rule.get("resourceNames", ())}
    assert names == {Settings().lease_name}


def test_each_value_is_in_the_schema_and_the_other_way_round() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    del schema["properties"]["global"]
    assert names_in(values, schema) == names_allowed_by(schema)


def test_templates_read_only_values_that_there_are() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    templates = "".join(file.read_text() for file in (CHART / "templates").iterdir())
    for path in set(re.findall(r"\.Values\.([\w.]+)", templates)):
        at: Any = values
        for name in path.split("."):
            assert name in at, path
            at = at[name]


def names_in(values: dict[str, Any], schema: dict[str, Any], place: str = "") -> set[str]:
    """The paths of all values, as deep as the schema names them."""
    found: set[str] = set()
    for name, value in values.items():
        path, inner = f"{place}/{name}", schema["properties"].get(name, {})
        found.add(path)
        if "properties" in inner:
            found |= names_in(value, inner, path)
    return found


def names_allowed_by(schema: dict[str, Any], place: str = "") -> set[str]:
    found: set[str] = set()
    for name, inner in schema["properties"].items():
        found.add(f"{place}/{name}")
        if "properties" in inner:
            found |= names_allowed_by(inner, f"{place}/{name}")
    return found

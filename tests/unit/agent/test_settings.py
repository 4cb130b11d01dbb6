import re

import pytest

from plimsoll.settings import Settings as OperatorSettings
from plimsoll_agent.settings import PREFIX, Settings
from support.project.pages import ROOT, rows
from support.project.rights import rules_in

POWER = ROOT / "docs" / "guides" / "power.md"
DAEMON_SET = (ROOT / "charts" / "plimsoll" / "templates" / "agent.yaml").read_text()
NAMED = {"PLIMSOLL_AGENT_NODE_NAME": "gpu-1"}


def test_each_setting_is_listed_with_its_default() -> None:
    listed = {n: cells[0].strip("`") for n, cells in rows(POWER) if n.startswith(PREFIX)}
    fields = {PREFIX + name.upper(): field for name, field in Settings.model_fields.items()}
    assert listed.keys() == fields.keys()
    fixed = {
        name: f"{field.default}"
        for name, field in fields.items()
        if field.default_factory is None and not field.is_required()
    }
    assert fixed.items() <= listed.items()


def test_the_daemon_set_sets_what_there_is_to_set() -> None:
    variables = set(re.findall(r"PLIMSOLL_[A-Z_]+", DAEMON_SET))
    assert variables
    assert variables <= {PREFIX + name.upper() for name in Settings.model_fields}


def test_it_looks_at_the_lease_that_the_operator_holds() -> None:
    ours, theirs = Settings.from_environment(NAMED), OperatorSettings()
    assert (ours.operator_namespace, ours.operator_lease) == (theirs.namespace, theirs.lease_name)


def test_its_rights_are_for_the_lease_that_it_looks_at() -> None:
    rules = rules_in(ROOT / "charts" / "plimsoll" / "files" / "agent-role-rules.yaml")
    names = {name for rule in rules for name in rule["resourceNames"]}
    assert names == {Settings.from_environment(NAMED).operator_lease}


@pytest.mark.parametrize(
    ("variable", "value"),
    [("NODE_NAME", ""), ("OPERATOR_TIMEOUT_SECONDS", "1"), ("LOG_LEVEL", "LOUD"), ("PORT", "x")],
)
def test_a_wrong_value_is_refused_by_its_name(variable: str, value: str) -> None:
    with pytest.raises(ValueError, match=PREFIX + variable):
        Settings.from_environment({**NAMED, PREFIX + variable: value})


@pytest.mark.parametrize(
    ("host", "server"),
    [("10.0.0.1", "https://10.0.0.1:6443"), ("fd00::1", "https://[fd00::1]:6443")],
)
def test_the_api_server_is_that_of_the_pod(
    host: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    assert Settings.from_environment(NAMED).api_server == server

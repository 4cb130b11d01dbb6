"""Rights as RBAC grants them, and which right a request to the API server needs."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import yaml

from support.project.pages import ROOT

_FILES = ROOT / "charts" / "plimsoll" / "files"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class Right(NamedTuple):
    """What may be done with which resource; a subresource follows it after a slash."""

    verb: str
    resource: str
    group: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' * bool(self.group)}{self.group}"


def rules_in(file: Path) -> list[dict[str, Any]]:
    """Return the rules of a Role."""
    return yaml.safe_load(file.read_text())


def cluster_rules() -> list[dict[str, Any]]:
    """Return what the operator may do in the whole cluster if it may do all that it can."""
    names = ("cluster-role", "adoption", "provisioning", "route")
    return [rule for name in names for rule in rules_in(_FILES / f"{name}-rules.yaml")]


def own_rules() -> list[dict[str, Any]]:
    """Return what the operator may do in its own namespace if it may do all that it can."""
    names = ("role", "provisioning-request", "ledger")
    return [rule for name in names for rule in rules_in(_FILES / f"{name}-rules.yaml")]


def console_rules() -> list[dict[str, Any]]:
    """Return what the console may do in the whole cluster if it may read all that it can."""
    names = ("console", "console-adoption", "console-provisioning")
    return [rule for name in names for rule in rules_in(_FILES / f"{name}-rules.yaml")]


def consoles_own_rules() -> list[dict[str, Any]]:
    """Return what the console may do in its own namespace if it may do all that it can."""
    names = ("console-provisioning-request", "console-ledger")
    return [rule for name in names for rule in rules_in(_FILES / f"{name}-rules.yaml")]


def granted(rules: Iterable[dict[str, Any]]) -> set[Right]:
    """Return what rules grant, right by right."""
    return {
        Right(verb, resource, group)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def needed(requests: Iterable[str]) -> set[Right]:
    """Return the rights that requests such as `GET /api/v1/pods?limit=500` need."""
    return {right for request in requests for right in _needed_by(request)}


def _needed_by(request: str) -> Iterator[Right]:
    method, _, address = request.partition(" ")
    url = urlsplit(address)
    root, *parts = url.path.strip("/").split("/")
    group = parts.pop(0) if root == "apis" and parts else ""
    parts = parts[1:]
    if not parts:  # which resources there are may be asked by all who have a name
        return
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, *name = parts
    watches = "watch" in parse_qs(url.query)
    yield Right(
        _verb(method, watches=watches, named=bool(name)), "/".join([resource, *name[1:]]), group
    )


def _verb(method: str, *, watches: bool, named: bool) -> str:
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    if method != "GET":
        return _VERBS[method]
    if watches:
        return "watch"
    return "get" if named else "list"

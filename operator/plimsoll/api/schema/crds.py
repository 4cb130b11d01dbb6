"""Write the CRDs to a folder, or check that the files there are up to date.

python -m plimsoll.api.schema.crds write crds
python -m plimsoll.api.schema.crds check crds
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import yaml

from plimsoll.api.definition import GROUP, VERSION, Column, Definition, Scale
from plimsoll.api.kinds import KINDS
from plimsoll.api.resource import Resource
from plimsoll.api.schema.crd_schema import structural_schema

_HEAD: Final = "# Generated from plimsoll.api by `make crds`. Change the models instead.\n"


class _PlainDumper(yaml.SafeDumper):
    """Writes every value out in place, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002, ANN401 - the signature is PyYAML's
        """Make PyYAML repeat values."""
        return True


def crd(kind: type[Resource]) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind."""
    definition = kind.definition
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": definition.crd_name,
            "labels": {
                "app.kubernetes.io/part-of": "plimsoll",
                "app.kubernetes.io/version": metadata.version("plimsoll-operator"),
            },
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if definition.namespaced else "Cluster",
            "names": _names(definition),
            "versions": [_version(kind)],
        },
    }


def _names(definition: Definition) -> dict[str, Any]:
    return {
        "kind": definition.kind,
        "listKind": f"{definition.kind}List",
        "plural": definition.plural,
        "singular": definition.kind.lower(),
        "shortNames": [definition.short_name],
        "categories": [*definition.categories],
    }


def _version(kind: type[Resource]) -> dict[str, Any]:
    definition = kind.definition
    scale = {"scale": _scale(definition.scale)} if definition.scale else {}
    selectable = [{"jsonPath": path} for path in definition.selectable]
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": structural_schema(kind)},
        "subresources": {"status": {}, **scale},
        **({"selectableFields": selectable} if selectable else {}),
        "additionalPrinterColumns": [_column(column) for column in definition.columns],
    }


def _scale(scale: Scale) -> dict[str, str]:
    return {
        "specReplicasPath": scale.spec_path,
        "statusReplicasPath": scale.status_path,
        "labelSelectorPath": scale.selector_path,
    }


def _column(column: Column) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return entry | ({"priority": column.priority} if column.priority else {})


@cache
def crd_files() -> Mapping[str, str]:
    """Return the text of each CRD by file name."""
    return {
        f"{kind.definition.crd_name}.yaml": _HEAD
        + yaml.dump(crd(kind), Dumper=_PlainDumper, sort_keys=False, width=100)
        for kind in KINDS
    }


def stale_files(folder: Path) -> list[str]:
    """Return the names of files that are missing, different or superfluous."""
    wanted = crd_files()
    found = {path.name: path.read_text() for path in folder.glob("*.yaml")}
    return sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the CRDs, or report by exit status whether they are up to date."""
    parser = argparse.ArgumentParser(prog="python -m plimsoll.api.schema.crds", description=__doc__)
    parser.add_argument("action", choices=["write", "check"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.action == "write":
        for name, text in crd_files().items():
            (options.folder / name).write_text(text)
    stale = stale_files(options.folder)
    if stale:
        sys.stderr.write(f"stale, run `make crds`: {', '.join(stale)}\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""Add the libraries of the console's page to an SBOM: CycloneDX knows only those of Python.

python hack/page_sbom.py dist/sbom.json
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

LIST = (
    Path(__file__).parents[1]
    / "console"
    / "plimsoll_console"
    / "page"
    / "static"
    / "vendor"
    / "vendor.json"
)


def component(package: dict[str, Any]) -> dict[str, Any]:
    """A package of vendor.json; its hash is that of npm's archive, of which we ship some files."""
    name, version = package["package"], package["version"]
    algorithm, _, digest = package["integrity"].partition("-")
    if algorithm != "sha512":
        raise SystemExit(f"{LIST.name}: integrity of {name} must begin with sha512-: correct it")
    purl = f"pkg:npm/{name}@{version}"
    return {
        "bom-ref": purl,
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://www.npmjs.com/package/{name}/v/{version}",
                "hashes": [{"alg": "SHA-512", "content": base64.b64decode(digest).hex()}],
            }
        ],
        "licenses": [{"license": {"id": package["licence"]}}],
        "name": name,
        "purl": purl,
        "type": "library",
        "version": version,
    }


def with_page(sbom: dict[str, Any], packages: list[dict[str, Any]]) -> dict[str, Any]:
    """The SBOM with the packages, on which what it describes depends."""
    added = [component(each) for each in packages]
    refs = [each["bom-ref"] for each in added]
    ours = sbom["metadata"]["component"]["bom-ref"]
    depends = [
        each | {"dependsOn": sorted({*each.get("dependsOn", ()), *refs})}
        if each["ref"] == ours
        else each
        for each in sbom["dependencies"]
    ]
    return {
        **sbom,
        "components": [*sbom["components"], *added],
        "dependencies": [*depends, *({"ref": ref} for ref in refs)],
    }


def main() -> int:
    """Write them into the file."""
    file = Path(sys.argv[1])
    sbom = with_page(json.loads(file.read_text()), json.loads(LIST.read_text()))
    file.write_text(json.dumps(sbom, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

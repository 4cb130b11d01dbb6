"""The SBOM also has what the console's page is made of."""

import json
import subprocess
import sys
from pathlib import Path

from support.project.pages import ROOT

STATIC = ROOT / "console" / "plimsoll_console" / "page" / "static"
PACKAGES = json.loads((STATIC / "vendor" / "vendor.json").read_text())
PYTHON_ONLY = {
    "metadata": {"component": {"bom-ref": "ours", "name": "plimsoll-operator"}},
    "components": [
        {"bom-ref": "kopf", "name": "kopf", "licenses": [{"license": {"id": "MIT"}}]},
    ],
    "dependencies": [{"ref": "ours", "dependsOn": ["kopf"]}, {"ref": "kopf"}],
}


def test_the_sbom_has_the_pages_libraries_with_their_licences_and_hashes(tmp_path: Path) -> None:
    file = tmp_path / "sbom.json"
    file.write_text(json.dumps(PYTHON_ONLY))
    for program in ("page_sbom.py", "licences.py"):
        command = [sys.executable, ROOT / "hack" / program, file]
        subprocess.run(command, check=True, capture_output=True)
    found = json.loads(file.read_text())
    by_purl = {each["purl"]: each for each in found["components"] if "purl" in each}
    assert set(by_purl) == {f"pkg:npm/{each['package']}@{each['version']}" for each in PACKAGES}
    assert [each["licenses"][0]["license"]["id"] for each in by_purl.values()] == [
        each["licence"] for each in PACKAGES
    ]
    for each in by_purl.values():
        (where,) = each["externalReferences"]
        (digest,) = where["hashes"]
        assert digest["alg"] == "SHA-512"
        assert len(bytes.fromhex(digest["content"])) == 64
    ours = next(each for each in found["dependencies"] if each["ref"] == "ours")
    assert set(ours["dependsOn"]) == {"kopf", *by_purl}
    assert {each["ref"] for each in found["dependencies"]} == {"ours", "kopf", *by_purl}

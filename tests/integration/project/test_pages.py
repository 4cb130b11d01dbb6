"""What the pages show really works: their manifests on a real API server."""

import re
from pathlib import Path

import pytest

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import manifests_in
from support.objects.manifests import Manifest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
DRY_RUN = "?dryRun=All&fieldValidation=Strict"


def shown() -> list[Manifest]:
    texts = [text for page in PAGES for text in BLOCK.findall(page.read_text())]
    objects: list[Manifest] = [each for text in texts for each in manifests_in(text)]
    return [each for each in objects if each.get("kind") in KIND_BY_NAME]


def test_the_readme_shows_a_job() -> None:
    assert BLOCK.search((ROOT / "README.md").read_text())


@pytest.mark.parametrize("manifest", shown(), ids=lambda each: each["metadata"]["name"])
def test_a_manifest_of_the_pages_is_accepted(
    api: ApiServer, namespace: str, manifest: Manifest
) -> None:
    definition = KIND_BY_NAME[str(manifest["kind"])].definition
    scope = f"namespaces/{namespace}/" if definition.namespaced else ""
    api.create(f"/apis/plimsoll.dev/v1alpha1/{scope}{definition.plural}{DRY_RUN}", manifest)

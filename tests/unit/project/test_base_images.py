import re
from pathlib import Path

import pytest

from support.project.pages import ROOT

DOCKERFILES = [ROOT / "Dockerfile", *(ROOT / "e2e").rglob("Dockerfile")]
PINNED = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")


def bases(dockerfile: str) -> list[str]:
    """The images that it starts from by default, stages of its own left out."""
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", dockerfile, re.MULTILINE))
    named = [
        re.sub(r"\$\{(\w+)\}", lambda match: defaults[match[1]], image)
        for image in re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    ]
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", dockerfile, re.MULTILINE))
    return [each for each in named if each not in stages]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_base_images_are_named_by_tag_and_digest(path: Path) -> None:
    found = bases(path.read_text())
    assert found
    assert [base for base in found if not PINNED.fullmatch(base)] == []


def test_the_image_is_made_of_what_locks_name_by_hash_only() -> None:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    installs = re.findall(r"-m pip --python \S+ install (.+?)(?:&&|$)", text, re.MULTILINE)
    assert len(installs) == 3
    for options in installs:
        locked = "--require-hashes" in options and "--requirement locks/" in options
        assert locked or ("--no-deps" in options and "/wheels/" in options)

"""What stands in the project's pages: links, headings, and the first columns of tables."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FIRST_CELL = re.compile(r"^\| `([^`]+)` \|(.*)$", re.MULTILINE)


def pages() -> list[Path]:
    """Return all pages of the project."""
    folders = ("", "docs", "examples", "worker", "bench", "hack/control-plane")
    return [page for folder in folders for page in sorted((ROOT / folder).glob("*.md"))]


def links(page: Path) -> list[str]:
    """Return where a page's links lead."""
    return _LINK.findall(_CODE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings can be linked to, as GitHub makes them."""
    headings = _HEADING.findall(_CODE.sub("", page.read_text()))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def rows(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of all tables that begin with a `word`: that word, and the other cells."""
    for word, rest in _FIRST_CELL.findall(page.read_text()):
        yield word, [cell.strip() for cell in rest.strip().strip("|").split("|")]

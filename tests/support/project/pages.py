"""What stands in the project's pages: links, headings, and the first columns of tables."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
_BUILT = {"build", "dist", "node_modules", "__pycache__"}
_OURS_THOUGH_HIDDEN = {".ci", ".github"}
_LINK = re.compile(r"\]\(<?([^)\s>]+)")
_MENTION = re.compile(r"(?<![\w-])(?<!\w/)docs/[\w./-]+\.md(?:#[\w-]+)?")
_CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINKED_TEXT = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FIRST_CELL = re.compile(r"^\| `([^`]+)` \|(.*)$", re.MULTILINE)


def files() -> Iterator[Path]:
    """Yield all files of the project, but for what is built and what tools keep for themselves."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if _is_ours(name))
        yield from (Path(folder, name) for name in sorted(names))


def pages() -> list[Path]:
    """Return all pages of the project."""
    return [file for file in files() if file.suffix == ".md"]


def links(page: Path) -> list[str]:
    """Return where a page's links lead."""
    return _LINK.findall(_CODE.sub("", page.read_text()))


def mentions() -> Iterator[tuple[Path, str]]:
    """Yield each page of docs/ that any file names by its path, and the file that does."""
    for file in files():
        for mention in _MENTION.findall(file.read_text(errors="ignore")):
            yield file, mention


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings can be linked to, as GitHub makes them."""
    headings = _HEADING.findall(_CODE.sub("", page.read_text()))
    names = [_anchor(heading) for heading in headings]
    seen: Counter[str] = Counter()
    for place, name in enumerate(names):
        names[place] = f"{name}-{seen[name]}" if seen[name] else name
        seen[name] += 1
    return set(names)


def rows(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of all tables that begin with a `word`: that word, and the other cells."""
    for word, rest in _FIRST_CELL.findall(page.read_text()):
        yield word, [cell.strip() for cell in rest.strip().strip("|").split("|")]


def _is_ours(folder: str) -> bool:
    if folder.startswith("."):
        return folder in _OURS_THOUGH_HIDDEN
    return folder not in _BUILT and not folder.endswith(".egg-info")


def _anchor(heading: str) -> str:
    text = _LINKED_TEXT.sub(r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")

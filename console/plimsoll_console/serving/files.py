"""The page's files, read once and sent from memory."""

import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from plimsoll_console.serving.encoded import smaller

STATIC: Final = Path(__file__).parents[1] / "page" / "static"
INDEX: Final = "index.html"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is sent."""

    content_type: str
    tag: str
    body: bytes
    compressed: bytes | None


def page_files(folder: Path = STATIC) -> dict[str, PageFile]:
    """The files of a folder by their path below it."""
    return dict(_files(folder))


def _files(folder: Path) -> Iterator[tuple[str, PageFile]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), _file(path)


def _file(path: Path) -> PageFile:
    body = path.read_bytes()
    tag = hashlib.blake2b(body, digest_size=12).hexdigest()
    known = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return PageFile(known or "application/octet-stream", tag, body, smaller(body))

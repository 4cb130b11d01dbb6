"""Fetch files from the web and verify their hashes."""

import hashlib
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from plimsoll_devcluster.programs.source_failed import SourceFailedError

SILENCE_SECONDS = 10  # how long a server may be silent before it counts as down
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Checksum:
    """The expected hash of a file's content."""

    algorithm: str
    value: str


def fetch_text(url: str) -> str:
    """Return the text at `url`. Raises SourceFailedError."""
    try:
        with urllib.request.urlopen(url, timeout=SILENCE_SECONDS) as response:  # noqa: S310 - ours
            return response.read().decode()
    except (OSError, HTTPException) as error:
        raise SourceFailedError(f"{url}: {error}") from error


def fetch_file(url: str, target: Path, checksum: Checksum) -> None:
    """Save the file at `url` as an executable. Raises SourceFailedError."""
    digest = hashlib.new(checksum.algorithm)
    try:
        with (
            urllib.request.urlopen(url, timeout=SILENCE_SECONDS) as response,  # noqa: S310 - ours
            target.open("wb") as output,
        ):
            while chunk := response.read(CHUNK_BYTES):
                digest.update(chunk)
                output.write(chunk)
    except (OSError, HTTPException) as error:
        raise SourceFailedError(f"{url}: {error}") from error
    if digest.hexdigest() != checksum.value.lower():
        raise SourceFailedError(f"{url}: its {checksum.algorithm} is not the published one")
    target.chmod(0o755)

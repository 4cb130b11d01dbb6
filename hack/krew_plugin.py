"""Pack the plugin that krew installs, and write its manifest: see hack/krew/README.md."""

import argparse
import gzip
import hashlib
import io
import tarfile
from pathlib import Path

ARCHIVE = "kubectl-plimsoll.tar.gz"
MANIFEST = "plimsoll.yaml"
_HERE = Path(__file__).parent
_SCRIPT = _HERE / "krew" / "kubectl-plimsoll"
_EXECUTABLE, _PLAIN = 0o755, 0o644


def archive(wheel: Path, version: str) -> bytes:
    """The plugin's files, packed; the same files give the same bytes."""
    files = {
        _SCRIPT.name: (_SCRIPT.read_bytes(), _EXECUTABLE),
        "VERSION": (f"{version}\n".encode(), _PLAIN),
        "LICENSE": ((_HERE.parent / "LICENSE").read_bytes(), _PLAIN),
        "requirements.txt": ((_HERE.parent / "locks" / "shipped.txt").read_bytes(), _PLAIN),
        wheel.name: (wheel.read_bytes(), _PLAIN),
    }
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def manifest(packed: bytes, version: str, repository: str) -> str:
    """The manifest that names the archive of a release and its hash."""
    text = (_HERE / "krew" / MANIFEST).read_text(encoding="utf-8")
    values = {
        "VERSION": version,
        "REPOSITORY": repository,
        "ARCHIVE": ARCHIVE,
        "SHA256": hashlib.sha256(packed).hexdigest(),
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def main() -> None:
    """Write both files beside the wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("repository", metavar="OWNER/NAME")
    options = parser.parse_args()
    version = options.wheel.name.split("-")[1]
    packed = archive(options.wheel, version)
    folder = options.wheel.parent
    (folder / ARCHIVE).write_bytes(packed)
    (folder / MANIFEST).write_text(manifest(packed, version, options.repository))


if __name__ == "__main__":
    main()

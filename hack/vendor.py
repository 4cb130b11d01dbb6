"""Fetch the page's libraries from npm's registry: `make vendor`.

python hack/vendor.py

vendor.json in the folder of the libraries says which packages at which versions, under which
licence and with which hash; this writes their files, and the SHA-256 of each into vendor.json. To
update one, change its version and its integrity, as `npm view NAME version dist.integrity` prints
them.

Browsers know no bare names without an import map, which the page's security policy forbids. So an
import of a package becomes an import of its file; nothing else of the files is changed.
"""

import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from plimsoll_devcluster.programs.npm_package import NpmPackage, unpack_files
from plimsoll_devcluster.programs.source_failed import SourceFailedError

FOLDER = Path(__file__).parents[1] / "console" / "plimsoll_console" / "page" / "static" / "vendor"
LIST = FOLDER / "vendor.json"
BARE_IMPORT = re.compile(r'from"(?P<package>[a-z]+)"')
SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=.*\n?")


def main() -> int:
    """Fetch every package of the list."""
    packages = json.loads(LIST.read_text())
    try:
        for package in packages:
            _fetch(package)
    except SourceFailedError as error:
        print(error, file=sys.stderr)
        return 1
    LIST.write_text(json.dumps(packages, indent=2) + "\n")
    return 0


def _fetch(package: dict[str, Any]) -> None:
    found = NpmPackage(package["package"], package["version"], package["integrity"])
    files = {each["path"]: each["file"] for each in package["files"]}
    with tempfile.TemporaryDirectory() as work:
        unpack_files(found, files, Path(work))
        for each in package["files"]:
            text = _for_browsers((Path(work) / each["file"]).read_text())
            (FOLDER / each["file"]).write_text(text)
            each["sha256"] = hashlib.sha256(text.encode()).hexdigest()


def _for_browsers(text: str) -> str:
    imported = BARE_IMPORT.sub(lambda found: f'from"./{found["package"]}.js"', text)
    return SOURCE_MAP.sub("\n", imported)


if __name__ == "__main__":
    sys.exit(main())

"""May every package in an SBOM be shipped with ours? That is said by the licences that it names.

python hack/licences.py dist/sbom.json
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

# Permissive ones, and the Mozilla licence, which asks something only of changes to its own files.
ACCEPTED = {
    "0BSD",
    "Apache-2.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CNRI-Python",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "PSF-2.0",
    "Python-2.0",
    "Unlicense",
    "Zlib",
}
# What packages without an SPDX expression write.
NAMES = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Read by hand: what the package says, and why that is well.
REVIEWED = {
    (
        "Pebble",
        "GNU Library or Lesser General Public License (LGPL)",
    ): "used unchanged, as a library",
    ("protobuf", "none"): "its licence of three clauses is that of BSD; only the metadata lacks it",
}


def licences(component: dict[str, Any]) -> list[str]:
    """The licences of a package, by SPDX name where they have one."""
    found: list[str] = []
    for each in component.get("licenses", ()):
        licence = each.get("license", {})
        said = each.get("expression") or licence.get("id") or licence["name"]
        name = said.removeprefix("License :: OSI Approved :: ")
        found.append(NAMES.get(name, name))
    return found


def is_accepted(expression: str) -> bool:
    """Whether an expression holds: all parts of an AND, or one of an OR."""
    plain = re.sub(r"[()]", "", expression)
    return any(set(parts.split(" AND ")) <= ACCEPTED for parts in plain.split(" OR "))


def main() -> int:
    """Say which packages name one that is not accepted, or none."""
    components = json.loads(Path(sys.argv[1]).read_text())["components"]
    said = [(each["name"], name) for each in components for name in licences(each) or ["none"]]
    wrong = [each for each in said if not is_accepted(each[1]) and each not in REVIEWED]
    for package, licence in wrong:
        print(f"{package}: {licence}", file=sys.stderr)
    print(f"{len(components)} packages, {len(wrong)} with a licence that nobody has accepted yet")
    return 1 if wrong or not components else 0


if __name__ == "__main__":
    sys.exit(main())

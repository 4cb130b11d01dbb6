"""All packages in an image, as CycloneDX: of Debian, of Python, and Python itself.

docker export CONTAINER | python hack/image_sbom.py IMAGE >image-sbom.json

It reads the image's files and runs nothing of it. Licences are not in it: those of what Plimsoll
adds are in the SBOM of `make sbom`, those of Debian's packages in the image, /usr/share/doc.
"""

import json
import re
import sys
import tarfile
from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import HeaderParser
from pathlib import PurePosixPath
from typing import BinaryIO
from urllib.parse import quote, urlencode

Component = dict[str, str]

OS_RELEASE = "usr/lib/os-release"
# The one file of Debian, and the many of images that are put together without dpkg.
DPKG = re.compile(r"var/lib/dpkg/(status|status\.d/[^/]+(?<!\.md5sums))")
DISTRIBUTION = re.compile(r".*/([^/]+\.dist-info/METADATA|[^/]+\.egg-info/PKG-INFO)")
# A Python that is not Debian's: the images of Docker's own library compile it.
PYTHON = re.compile(r"usr/local/include/python3\.\d+/patchlevel\.h")


def files_of_interest(stream: BinaryIO) -> dict[str, str]:
    """The files that say what is installed, by their path without the leading slash."""
    found: dict[str, str] = {}
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            path = str(PurePosixPath(member.name))
            known = path == OS_RELEASE or any(
                each.fullmatch(path) for each in (DPKG, DISTRIBUTION, PYTHON)
            )
            content = archive.extractfile(member) if known and member.isfile() else None
            if content:
                found[path] = content.read().decode()
    # An archive ends before its padding does; who still writes that would die of a broken pipe.
    while stream.read(1 << 20):
        pass
    return found


def components(files: Mapping[str, str]) -> list[Component]:
    """Everything that is installed, each once, in an order that does not change."""
    found = [*debian_packages(files), *python_packages(files), *compiled_pythons(files)]
    return [each for _, each in sorted({each["purl"]: each for each in found}.items())]


def debian_packages(files: Mapping[str, str]) -> Iterator[Component]:
    """The packages that dpkg counts as installed."""
    for path, text in files.items():
        if DPKG.fullmatch(path):
            for paragraph in map(headers, filter(str.strip, text.split("\n\n"))):
                if paragraph.get("Status", "install ok installed").endswith(" installed"):
                    yield debian_package(paragraph, release(files.get(OS_RELEASE, "")))


def debian_package(paragraph: Message, distro: str) -> Component:
    """One package; `upstream` names its source, by which weaknesses are published."""
    name, version = paragraph["Package"], paragraph["Version"]
    source, _, source_version = paragraph.get("Source", name).partition(" ")
    upstream = f"{source}@{source_version.strip('()')}" if source_version else source
    about = {"arch": paragraph["Architecture"], "distro": distro, "upstream": upstream}
    if upstream == name:
        del about["upstream"]
    return component(f"deb/{distro.partition('-')[0]}", name, version, urlencode(about))


def release(os_release: str) -> str:
    """The distribution, such as `debian-13`."""
    said = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]+)"?$', os_release, re.MULTILINE))
    return f"{said.get('ID', 'debian')}-{said.get('VERSION_ID', 'unknown')}"


def python_packages(files: Mapping[str, str]) -> Iterator[Component]:
    """The distributions of Python packages, wherever they are."""
    for path, text in files.items():
        if DISTRIBUTION.fullmatch(path):
            metadata = headers(text)
            name = re.sub(r"[-_.]+", "-", metadata["Name"]).lower()
            yield component("pypi", name, metadata["Version"])


def compiled_pythons(files: Mapping[str, str]) -> Iterator[Component]:
    """Pythons that no package manager knows of."""
    for path, text in files.items():
        if PYTHON.fullmatch(path):
            [version] = re.findall(r'^#define PY_VERSION\s+"([^"]+)"', text, re.MULTILINE)
            yield component("generic", "python", version)


def component(kind: str, name: str, version: str, about: str = "") -> Component:
    """An entry of the list, with the package URL by which other tools know it."""
    purl = f"pkg:{kind}/{quote(name, safe='')}@{quote(version, safe='')}"
    if about:
        purl += f"?{about}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def headers(text: str) -> Message:
    """Fields as in the head of a letter, which dpkg and Python both write."""
    return HeaderParser().parsestr(text)


def main() -> None:
    """Read the archive of an image's files, and print the list."""
    found = components(files_of_interest(sys.stdin.buffer))
    if not found:
        sys.exit("no package in it: is this an image's file system?")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": sys.argv[1]}},
        "components": found,
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()

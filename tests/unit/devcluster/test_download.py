import functools
import hashlib
import io
import json
import socket
import sys
import tarfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from plimsoll_devcluster.processes.program_flags import PROGRAMS
from plimsoll_devcluster.programs import download, versions
from plimsoll_devcluster.programs.control_plane_programs import missing_programs
from plimsoll_devcluster.programs.download import Origins
from plimsoll_devcluster.programs.source_failed import SourceFailedError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="kube-scheduler is published for Linux only"
)
PLATFORM = "linux-amd64"
OURS = f"v{versions.KUBERNETES}"
MINOR = versions.KUBERNETES.rpartition(".")[0]


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
        pass


class Web:
    """The projects' servers, as one folder on a local port."""

    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        self.url = url
        self.index: dict[str, Any] = {"releases": {}}

    @property
    def origins(self) -> Origins:
        return Origins(
            envtest_index=f"{self.url}/index.yaml",
            kubernetes=f"{self.url}/release",
            kwok=f"{self.url}/kwok",
            kwok_releases=f"{self.url}/kwok-releases",
        )

    def put(self, path: str, content: bytes) -> str:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return f"{self.url}/{path}"

    def publish_kubernetes(self, version: str) -> None:
        name = f"envtest-{version}-{PLATFORM}.tar.gz"
        archive = envtest_archive(version)
        entry = {
            "hash": hashlib.sha512(archive).hexdigest(),
            "selfLink": self.put(name, archive),
        }
        self.index["releases"][version] = {name: entry}
        self.put("index.yaml", yaml.safe_dump(self.index).encode())
        for program in download.FROM_KUBERNETES:
            path = f"release/{version}/bin/{PLATFORM.replace('-', '/')}/{program}"
            content = f"{program} {version}".encode()
            self.put(path, content)
            self.put(f"{path}.sha256", hashlib.sha256(content).hexdigest().encode())

    def publish_kwok(self) -> None:
        name = f"kwok-{PLATFORM}"
        digest = hashlib.sha256(b"kwok").hexdigest()
        self.put(f"kwok/v{versions.KWOK}/{name}", b"kwok")
        release = {"assets": [{"name": name, "digest": f"sha256:{digest}"}]}
        self.put(f"kwok-releases/v{versions.KWOK}", json.dumps(release).encode())


def envtest_archive(version: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for program in download.FROM_ENVTEST:
            content = f"{program} {version}".encode()
            member = tarfile.TarInfo(f"controller-tools/envtest/{program}")
            member.size = len(content)
            member.mode = 0o755
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    root = tmp_path / "web"
    root.mkdir()
    handler = functools.partial(QuietHandler, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Web(root, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "programs"
    target.mkdir()
    return target


def test_all_programs_come_from_their_projects(web: Web, folder: Path) -> None:
    web.publish_kubernetes(OURS)
    web.publish_kwok()
    download.fetch(folder, web.origins)
    assert missing_programs(folder) == []
    assert sorted(file.name for file in folder.iterdir()) == sorted(PROGRAMS)
    assert (folder / "kube-scheduler").read_text() == f"kube-scheduler {OURS}"


def test_our_own_version_is_preferred_to_a_newer_patch(web: Web, folder: Path) -> None:
    web.publish_kubernetes(f"v{MINOR}.99")
    web.publish_kubernetes(OURS)
    web.publish_kwok()
    download.fetch(folder, web.origins)
    assert (folder / "etcd").read_text() == f"etcd {OURS}"


def test_the_newest_patch_stands_in_for_a_version_that_is_not_there(web: Web, folder: Path) -> None:
    for patch in (f"{MINOR}.9", f"{MINOR}.11", f"{MINOR}.0-rc.1"):
        web.publish_kubernetes(f"v{patch}")
    web.publish_kwok()
    download.fetch(folder, web.origins)
    for program in ("etcd", "kube-controller-manager"):
        assert (folder / program).read_text() == f"{program} v{MINOR}.11"


@pytest.mark.parametrize(
    "path",
    [
        f"envtest-{OURS}-{PLATFORM}.tar.gz",
        f"release/{OURS}/bin/linux/amd64/kube-scheduler",
        f"kwok/v{versions.KWOK}/kwok-{PLATFORM}",
    ],
)
def test_a_file_that_is_not_the_published_one_is_refused(web: Web, folder: Path, path: str) -> None:
    web.publish_kubernetes(OURS)
    web.publish_kwok()
    web.put(path, b"something else")
    with pytest.raises(SourceFailedError, match="is not the published one"):
        download.fetch(folder, web.origins)


def test_an_index_without_our_minor_version_is_no_source(web: Web, folder: Path) -> None:
    web.publish_kubernetes("v1.2.3")
    with pytest.raises(SourceFailedError, match=f"has no Kubernetes {MINOR}"):
        download.fetch(folder, web.origins)


def test_a_missing_file_is_no_source(web: Web, folder: Path) -> None:
    web.publish_kubernetes(OURS)
    with pytest.raises(SourceFailedError, match="404"):
        download.fetch(folder, web.origins)


def test_a_machine_that_nobody_answers_is_no_source(folder: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        origins = Origins(envtest_index=f"http://127.0.0.1:{port}/index.yaml")
        with pytest.raises(SourceFailedError, match="refused"):
            download.fetch(folder, origins)

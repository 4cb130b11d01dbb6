import base64
from pathlib import Path

import pytest
import yaml
from kubernetes.config import ConfigException, incluster_config

from plimsoll.kube.http.credentials import Remembered, endpoint

A_CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUE7kqeqjAm7Bf6yJgLpMC8a+NcDowCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjEwNzUwMDJaGA8yMTI2MTAyODA3NTAw
MlowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOUS
bVoXBQO7Mmq2mE3KOWoRZbhl3KLoiOG8dcCIFn4qO5oeaTAM8CDceHURDBps23EK
iN4kxEeGWXUJqjjYXZqjUzBRMB0GA1UdDgQWBBQ9/Z9C01xKjtl1Ha++oNi/153h
PTAfBgNVHSMEGDAWgBQ9/Z9C01xKjtl1Ha++oNi/153hPTAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCV1mCCPr/maJBcch2NlIToslL4AfYS2mAk
OhfuaHU2agIgGvQ1EkIQCUlFM76nbiUeG688rtAhJfS7aE2tyvChBPs=
-----END CERTIFICATE-----
"""


def a_kubeconfig(folder: Path, *, server: str = "http://a:1", user: dict[str, str]) -> Path:
    path = folder / f"config-{len(list(folder.iterdir()))}"
    document = {
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "k", "user": "u"}},
            {"name": "other", "context": {"cluster": "k2", "user": "u"}},
        ],
        "clusters": [
            {"name": "k", "cluster": {"server": server}},
            {"name": "k2", "cluster": {"server": "http://b:2"}},
        ],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_kubeconfig_names_the_server_and_the_token(tmp_path: Path) -> None:
    found = endpoint(a_kubeconfig(tmp_path, user={"token": "t0ken"}))
    assert (found.server, found.tls) == ("http://a:1", None)
    assert found.authorization() == "Bearer t0ken"


def test_another_context_can_be_meant(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path, user={"token": "t"})
    assert endpoint(path, context="other").server == "http://b:2"


def test_the_environment_names_the_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(a_kubeconfig(tmp_path, user={"token": "t"})))
    assert endpoint().server == "http://a:1"


def test_a_password_becomes_basic_authorization(tmp_path: Path) -> None:
    found = endpoint(a_kubeconfig(tmp_path, user={"username": "u", "password": "p"}))
    assert found.authorization() == "Basic " + base64.b64encode(b"u:p").decode()


def test_without_a_token_there_is_no_header(tmp_path: Path) -> None:
    assert endpoint(a_kubeconfig(tmp_path, user={})).authorization() is None


def test_a_pod_speaks_with_its_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    authority.write_text(A_CERTIFICATE)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    found = endpoint()
    assert found.server == "https://10.0.0.1:443"
    assert found.tls is not None
    assert (found.authorization() or "").lower() == "bearer first"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigException):
        endpoint(tmp_path / "nothing")


def test_a_token_that_rotates_is_taken_up_within_seconds() -> None:
    tokens, now = ["first"], [0.0]
    authorization = Remembered(lambda: tokens[-1], seconds=5, clock=lambda: now[0])
    assert authorization() == "first"
    tokens.append("second")
    now[0] = 4.9
    assert authorization() == "first"
    now[0] = 5.0
    assert authorization() == "second"

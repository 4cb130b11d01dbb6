"""Find the API server and authenticate to it.

Kubeconfig files, exec plugins and service accounts are read by the official client's loader; only
its settings are used, none of its models.
"""

import math
import os
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec
from kubernetes import config
from kubernetes.client import Configuration
from kubernetes.config import ConfigException
from kubernetes.config.kube_config import (
    KUBE_CONFIG_DEFAULT_LOCATION,
    KubeConfigMerger,
)


class _Loader(Protocol):
    """The part of the official client's loader in use, whose parameters are untyped."""

    def load_incluster_config(self, *, client_configuration: Configuration) -> None: ...

    def load_kube_config(
        self, *, config_file: str | None, context: str | None, client_configuration: Configuration
    ) -> None: ...


class _Merged(Protocol):
    """Kubeconfig files as the loader merges them."""

    value: dict[str, Any]


_LOADER = cast("_Loader", config)
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An API server and how to connect to it.

    `authorization` is called for each request, since tokens rotate; it returns None if a client
    certificate authenticates instead.
    """

    server: str
    tls: ssl.SSLContext | None
    authorization: Callable[[], str | None]
    server_hostname: str | None = None
    proxy: str | None = None


class Remembered:
    """The authorization header, cached for some seconds.

    The loader renews a token when it expires and rereads a service account's file once a minute,
    but each call costs as much as half a request. If a kubeconfig names an exec plugin, an expired
    token makes the loader run it, and the event loop waits for that.
    """

    def __init__(
        self,
        load: Callable[[], str | None],
        *,
        seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._seconds = seconds
        self._clock = clock
        self._until = -math.inf
        self._value: str | None = None
        self._lock = threading.Lock()

    def __call__(self) -> str | None:
        """The value of the Authorization header."""
        with self._lock:  # clients in two threads call it, and the loader is not thread-safe
            if self._clock() >= self._until:
                self._value = self._load()
                self._until = self._clock() + self._seconds
            return self._value


def endpoint(kubeconfig: str | Path | None = None, *, context: str | None = None) -> Endpoint:
    """The cluster of `kubeconfig`, otherwise of $KUBECONFIG, this pod, or ~/.kube/config.

    It may block on a program of the user's (exec plugins), so call it before the event loop is
    busy. Raises the loader's ConfigException if nothing is configured.
    """
    settings = Configuration()
    path = kubeconfig or os.environ.get("KUBECONFIG")
    if path is None and _IN_CLUSTER in os.environ:
        _LOADER.load_incluster_config(client_configuration=settings)
    else:
        _LOADER.load_kube_config(
            config_file=None if path is None else str(path),
            context=context,
            client_configuration=settings,
        )
    return _endpoint_of(settings)


class _Place(msgspec.Struct):
    namespace: str = ""


class _Context(msgspec.Struct):
    name: str
    context: _Place | None = None


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a kubeconfig: the namespace of each by its name, and the current one's name.

    A namespace is "" where none is set.
    """

    namespaces: Mapping[str, str]
    current: str


def contexts(kubeconfig: str | Path | None = None) -> Contexts:
    """The contexts that kubectl knows. Raises the loader's ConfigException if a file is empty."""
    path = kubeconfig or os.environ.get("KUBECONFIG") or KUBE_CONFIG_DEFAULT_LOCATION
    merged = cast("_Merged | None", KubeConfigMerger(str(path)).config)
    raw: dict[str, Any] = {"contexts": []} if merged is None else merged.value
    named = (cast("_Merged", each).value for each in raw["contexts"])
    try:
        found = [msgspec.convert(each, _Context) for each in named]
    except msgspec.ValidationError as error:
        raise ConfigException(f"invalid context in the kubeconfig: {error}") from error
    namespaces = {each.name: each.context.namespace if each.context else "" for each in found}
    return Contexts(namespaces, str(raw.get("current-context") or ""))


def own_namespace(kubeconfig: str | Path | None = None, *, context: str | None = None) -> str:
    """The namespace that a user works in: the context's, this pod's, or `default`.

    Raises the loader's ConfigException if nothing is configured.
    """
    if kubeconfig is None and "KUBECONFIG" not in os.environ and _IN_CLUSTER in os.environ:
        return _OWN_NAMESPACE.read_text().strip() if _OWN_NAMESPACE.is_file() else _DEFAULT
    found = contexts(kubeconfig)
    return found.namespaces.get(context or found.current) or _DEFAULT


def _endpoint_of(settings: Configuration) -> Endpoint:
    server = settings.host.rstrip("/")
    return Endpoint(
        server=server,
        tls=_tls(settings) if server.startswith("https:") else None,
        authorization=Remembered(lambda: _authorization(settings)),
        server_hostname=settings.tls_server_name,
        proxy=settings.proxy,
    )


def _tls(settings: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    if not settings.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # Python 3.13 rejects authorities without the extensions that kubeadm and others omit.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _authorization(settings: Configuration) -> str | None:
    bearer = settings.auth_settings().get("BearerToken")
    return None if bearer is None else bearer["value"]

"""The API server, namespace and contexts that are configured where a command is run."""

from collections.abc import Sequence
from pathlib import Path

from kubernetes.config import ConfigException

from plimsoll.errors import NoCluster
from plimsoll.kube.http.credentials import Endpoint, contexts, endpoint, own_namespace


def configured(kubeconfig: str | Path | None, context: str | None) -> Endpoint:
    """The API server to use, found as kubectl finds it. Raises NoCluster."""
    try:
        return endpoint(kubeconfig, context=context)
    except (ConfigException, OSError) as error:
        raise NoCluster(str(error)) from error


def configured_namespace(kubeconfig: str | Path | None, context: str | None) -> str:
    """The namespace to use, found as kubectl finds it. Raises NoCluster."""
    try:
        return own_namespace(kubeconfig, context=context)
    except (ConfigException, OSError) as error:
        raise NoCluster(str(error)) from error


def configured_contexts(kubeconfig: str | Path | None) -> Sequence[str]:
    """The names of the contexts that kubectl knows. Raises NoCluster."""
    try:
        return [*contexts(kubeconfig).namespaces]
    except (ConfigException, OSError) as error:
        raise NoCluster(str(error)) from error

"""The smallest objects of a real API server, for tests that need nothing of their meaning."""

import msgspec

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject

CONFIG_MAPS = Resource("", "v1", "configmaps")


class ConfigMap(KubeObject, frozen=True):
    """Some words under a name."""

    data: dict[str, str] = msgspec.field(default_factory=dict[str, str])

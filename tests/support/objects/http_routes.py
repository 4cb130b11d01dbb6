"""HTTPRoutes of the Gateway API, as those who own them write them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from plimsoll_devcluster.manifest import Manifest

CRDS: Final = Path(__file__).parent / "gateway_crds"
API_VERSION: Final = "gateway.networking.k8s.io/v1"


def a_route(
    *rules: Mapping[str, int], of: str | None = "serve", backends: str | None = None
) -> Manifest:
    """A route whose rules have these backends with these weights."""
    asked = {"plimsoll.dev/weights-of": of, "plimsoll.dev/backends": backends}
    notes = {key: value for key, value in asked.items() if value is not None}
    return {
        "apiVersion": API_VERSION,
        "kind": "HTTPRoute",
        "metadata": {"name": "chat", "annotations": notes},
        "spec": {"rules": [{"backendRefs": _refs(rule)} for rule in rules]},
    }


def weights(route: Manifest) -> list[dict[str, int]]:
    """The weights of the backends of each rule."""
    return [
        {ref["name"]: ref["weight"] for ref in rule["backendRefs"]}
        for rule in route["spec"]["rules"]
    ]


def _refs(rule: Mapping[str, int]) -> list[Manifest]:
    return [{"name": name, "port": 80, "weight": weight} for name, weight in rule.items()]

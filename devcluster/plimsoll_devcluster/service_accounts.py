"""ServiceAccounts with rights, and their kubeconfigs, for asking as a pod would."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.credentials import write_secret

RBAC = "rbac.authorization.k8s.io"
CLUSTER = f"/apis/{RBAC}/v1"
TOKEN_SECONDS = 24 * 3600


def add_account(
    api: ApiServer,
    name: str,
    namespace: str,
    *,
    cluster_rules: Sequence[Manifest],
    own_rules: Sequence[Manifest],
) -> str:
    """Create a ServiceAccount with rights in the cluster and in its namespace; return a token."""
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    metadata = {"metadata": {"name": name}}
    api.create(accounts, metadata)
    for place, kind, rules in (
        (CLUSTER, "ClusterRole", cluster_rules),
        (f"{CLUSTER}/namespaces/{namespace}", "Role", own_rules),
    ):
        role = {"apiGroup": RBAC, "kind": kind, "name": name}
        api.create(f"{place}/{kind.lower()}s", {**metadata, "rules": list(rules)})
        binding = {**metadata, "roleRef": role, "subjects": subjects}
        api.create(f"{place}/{kind.lower()}bindings", binding)
    asked = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
    return api.create(f"{accounts}/{name}/token", asked)["status"]["token"]


def remove_cluster_rights(api: ApiServer, name: str) -> None:
    """Remove the rights that do not go with the account's namespace."""
    api.delete(f"{CLUSTER}/clusterrolebindings/{name}")
    api.delete(f"{CLUSTER}/clusterroles/{name}")


def with_token(kubeconfig: Path, token: str, path: Path) -> Path:
    """Write a kubeconfig to `path` that leads to the same server, as the bearer of a token."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    return write_secret(path, yaml.safe_dump(config))

"""ServiceAccounts with rights, and their kubeconfigs, for asking as a pod would."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.credentials import write_secret
from plimsoll_devcluster.waiting import wait_until

RBAC = "rbac.authorization.k8s.io"
CLUSTER = f"/apis/{RBAC}/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
TOKEN_SECONDS = 24 * 3600
GRANTED_SECONDS = 30


def add_account(
    api: ApiServer,
    name: str,
    namespace: str,
    *,
    cluster_rules: Sequence[Manifest],
    own_rules: Sequence[Manifest],
) -> str:
    """Create a ServiceAccount with rights in the cluster and in its namespace; return a token.

    The rights are in force then: the API server takes a moment to notice them.
    """
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
    user = f"system:serviceaccount:{namespace}:{name}"
    for space, rules in (("", cluster_rules), (namespace, own_rules)):
        for rule in rules:
            wait_until(
                partial(_is_granted, api, user, space, rule),
                timeout_seconds=GRANTED_SECONDS,
                what=f"{user} has its rights",
            )
    asked = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
    return api.create(f"{accounts}/{name}/token", asked)["status"]["token"]


def _is_granted(api: ApiServer, user: str, namespace: str, rule: Manifest) -> bool:
    """Whether the API server grants the first of what a rule does."""
    attributes = {
        "group": rule["apiGroups"][0],
        "resource": rule["resources"][0].partition("/")[0],
        "subresource": rule["resources"][0].partition("/")[2],
        "verb": rule["verbs"][0],
        "namespace": namespace,
        "name": rule.get("resourceNames", [""])[0],
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    return bool(api.create(REVIEWS, review)["status"].get("allowed"))


def remove_cluster_rights(api: ApiServer, name: str) -> None:
    """Remove the rights that do not go with the account's namespace."""
    api.delete(f"{CLUSTER}/clusterrolebindings/{name}")
    api.delete(f"{CLUSTER}/clusterroles/{name}")


def with_token(kubeconfig: Path, token: str, path: Path) -> Path:
    """Write a kubeconfig to `path` that leads to the same server, as the bearer of a token."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    return write_secret(path, yaml.safe_dump(config))

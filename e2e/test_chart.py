"""The chart, as Helm renders it with some values; no cluster is needed."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.commands import CommandFailedError, run
from harness.images import ROOT
from harness.release import CHART
from plimsoll_devcluster.manifest import manifests_in

pytestmark = pytest.mark.usefixtures("helm")

DIGEST = "sha256:" + "0" * 64
POLICIES_SERVED = ("admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",)
VARIATIONS: dict[str, tuple[str, ...]] = {
    "as it is": (),
    "one replica": ("replicaCount=1",),
    "asleep": ("replicaCount=0",),
    "by digest": (f"image.digest={DIGEST}",),
    "by tag": ("image.repository=registry.example:5000/team/plimsoll", "image.tag=v1"),
    "pull secrets": ("imagePullSecrets[0].name=mine",),
    "crds by hand": ("crds.install=false",),
    "account": ("serviceAccount.name=mine", "serviceAccount.annotations.a/b=c"),
    "no user roles": ("rbac.aggregateToUserRoles=false",),
    "no adoption": ("adoption.enabled=false",),
    "routes": ("routes.enabled=true",),
    "targets": (
        "rbac.targets[0].apiGroup=leaderworkerset.x-k8s.io",
        "rbac.targets[0].resource=leaderworkersets",
    ),
    "settings": ("logLevel=DEBUG", "env[0].name=PLIMSOLL_STALE_SECONDS", "env[0].value=60"),
    "snapshots": ("snapshots.enabled=true", "snapshots.kept=3", "snapshots.sizeLimit=10Mi"),
    "monitored": ("metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.labels.a=b"),
    "pods monitored": ("metrics.podMonitor.enabled=true", "metrics.podMonitor.labels.a=b"),
    "alerts": ("metrics.prometheusRule.enabled=true", "metrics.prometheusRule.labels.a=b"),
    "dashboard": ("metrics.dashboard.enabled=true", "metrics.dashboard.annotations.a=b"),
    "open": ("networkPolicy.enabled=false",),
    "closed": (
        "networkPolicy.workersFrom[0].namespaceSelector.matchLabels.a=b",
        "networkPolicy.egress[0].ports[0].port=443",
    ),
    "apart": ("flowControl.enabled=true", "flowControl.priorityLevel=mine"),
    "placed": (
        *("nodeSelector.a=b", "tolerations[0].key=a", "priorityClassName=system-cluster-critical"),
        "topologySpreadConstraints[0].maxSkew=1",
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution=null",
    ),
    "labelled": ("podLabels.a=b", "podAnnotations.c=d"),
}
AGENTS: dict[str, tuple[str, ...]] = {
    "as it is": (),
    "placed": (
        *("agent.nodeSelector.a=b", "agent.tolerations[0].key=a", "agent.runtimeClassName=nvidia"),
        *("agent.priorityClassName=", "agent.affinity.nodeAffinity=null"),
    ),
    "labelled": ("agent.podLabels.a=b", "agent.podAnnotations.c=d", "imagePullSecrets[0].name=a"),
    "patient": ("agent.operatorTimeoutSeconds=3600", "logLevel=DEBUG"),
}
LEDGER = "plimsoll-ledger"
CONSOLES: dict[str, tuple[str, ...]] = {
    "as it is": (),
    "with a certificate": ("console.tlsSecretName=console-tls", "console.audiences[0]=console"),
    "closed": ("console.from[0].podSelector.matchLabels.a=b", "console.historyHours=12"),
    "with a ledger": ("console.ledger.enabled=true", "console.ledger.gramsPerKWh=380"),
    "with a ledger elsewhere": (
        "console.ledger.enabled=true",
        "console.ledger.databaseSecretName=ledger",
    ),
    "with notifications": (
        *("console.ledger.enabled=true", "console.notifications.url=https://hooks.example.com"),
        *("console.notifications.secretName=webhook", "console.notifications.types={failed}"),
    ),
    "placed": ("console.nodeSelector.a=b", "console.tolerations[0].key=a"),
    "settings": ("console.env[0].name=PLIMSOLL_CONSOLE_MOST_VIEWERS", "console.env[0].value=9"),
    "of all that may be watched": (
        *("provisioning.enabled=true", "provisioning.provisioningRequests=true"),
        *("rbac.targets[0].apiGroup=example.com", "rbac.targets[0].resource=things"),
    ),
}
WRONG = {
    "unknown": "replicas=2",
    "no number": "replicaCount=two",
    "no level": "logLevel=LOUD",
    "no digest": "image.digest=latest",
    "no image": "image.repository=",
    "what the chart sets": "env[0].name=PLIMSOLL_PORT",
    "what a value sets": "env[0].name=PLIMSOLL_ADOPTS_JOBS",
    "unknown within": "snapshots.folder=/tmp",
    "too impatient": "agent.operatorTimeoutSeconds=1",
    "what a value of the console sets": "console.env[0].name=PLIMSOLL_CONSOLE_PORT",
    "unknown within the console": "console.replicas=2",
    "no event": "console.notifications.types={begun}",
}


def settings(values: Sequence[str]) -> list[str]:
    return [f"--set-string={v}" if ".value=" in v else f"--set={v}" for v in values]


@functools.cache
def rendered(
    *values: str, name: str = "plimsoll", served: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """What is installed where the API server also serves these kinds."""
    flags = [f"--api-versions={kind}" for kind in served]
    text = run("helm", "template", name, CHART, "--namespace=home", *flags, *settings(values))
    return manifests_in(text)


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [document for document in documents if document["kind"] == kind]


def pod_of(documents: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = of_kind(documents, "Deployment")
    return deployment["spec"]["template"]["spec"]


@pytest.mark.parametrize("values", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_helm_finds_nothing_to_complain_about(values: tuple[str, ...]) -> None:
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", CHART, *settings(values))


@pytest.mark.parametrize("values", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_it_always_runs_without_privileges_and_is_probed(values: tuple[str, ...]) -> None:
    pod = pod_of(rendered(*values))
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")}
    assert probes == {
        "liveness": {"path": "/healthz", "port": "http"},
        "readiness": {"path": "/readyz", "port": "http"},
    }


@pytest.mark.parametrize("values", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_rights_are_bound_to_the_account_that_the_pods_run_as(values: tuple[str, ...]) -> None:
    documents = rendered(*values)
    (account,) = of_kind(documents, "ServiceAccount")
    assert pod_of(documents)["serviceAccountName"] == account["metadata"]["name"]
    for kind in ("ClusterRole", "Role"):
        (binding,) = of_kind(documents, f"{kind}Binding")
        (subject,) = binding["subjects"]
        assert (subject["name"], subject["namespace"]) == (account["metadata"]["name"], "home")
        roles = {role["metadata"]["name"] for role in of_kind(documents, kind)}
        assert binding["roleRef"]["name"] in roles


@pytest.mark.parametrize("values", AGENTS.values(), ids=AGENTS.keys())
def test_an_agent_has_one_capability_and_an_account_of_its_own(values: tuple[str, ...]) -> None:
    given = ("agent.enabled=true", *values)
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", CHART, *settings(given))
    documents = rendered(*given)
    (agents,) = of_kind(documents, "DaemonSet")
    pod = agents["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "runAsUser": 0,
        "runAsGroup": 0,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]},
    }
    assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC", "volumes"}
    assert pod["serviceAccountName"] != pod_of(documents)["serviceAccountName"]
    assert container["image"] == pod_of(documents)["containers"][0]["image"]


@pytest.mark.parametrize("values", CONSOLES.values(), ids=CONSOLES.keys())
def test_a_console_has_no_privileges_and_rights_of_its_own_to_read(values: tuple[str, ...]) -> None:
    given = ("console.enabled=true", *values)
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", CHART, *settings(given))
    documents = rendered(*given)
    operator, console = of_kind(documents, "Deployment")
    if "console" in operator["metadata"]["name"]:
        operator, console = console, operator
    template = console["spec"]["template"]
    pod, labels = template["spec"], template["metadata"]["labels"]
    assert pod["securityContext"]["runAsNonRoot"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["command"] == ["plimsoll-console"]
    assert not operator["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (service,) = (
        each for each in of_kind(documents, "Service") if "console" in each["metadata"]["name"]
    )
    assert service["spec"]["selector"].items() <= labels.items()
    account = pod["serviceAccountName"]
    bindings = [*of_kind(documents, "ClusterRoleBinding"), *of_kind(documents, "RoleBinding")]
    bound = {each["roleRef"]["name"] for each in bindings if names_account(each, account)}
    assert bound == {account}
    roles = [*of_kind(documents, "ClusterRole"), *of_kind(documents, "Role")]
    rules = [
        rule for role in roles if role["metadata"]["name"] == account for rule in role["rules"]
    ]
    changing = {
        (resource, *rule.get("resourceNames", ()))
        for rule in rules
        if not {*rule["verbs"]} <= {"get", "list", "watch"}
        for resource in rule["resources"]
    }
    keeps = "console.ledger.enabled=true" in values
    asks = {("subjectaccessreviews",), ("tokenreviews",)}
    assert changing == asks | ({("leases", LEDGER)} if keeps else set())
    (container,) = operator["spec"]["template"]["spec"]["containers"]
    told = {"name": "PLIMSOLL_LEDGER_LEASE", "value": LEDGER}
    assert (told in container["env"]) == keeps
    (own,) = (r for r in of_kind(documents, "Role") if r["metadata"]["name"] == "plimsoll")
    assert any(LEDGER in rule.get("resourceNames", ()) for rule in own["rules"]) == keeps


def names_account(binding: dict[str, Any], account: str) -> bool:
    return any(subject["name"] == account for subject in binding["subjects"])


def test_the_agents_policy_is_for_the_account_that_they_run_as() -> None:
    for name in ("plimsoll", "mine"):
        documents = rendered("agent.enabled=true", name=name)
        (agents,) = of_kind(documents, "DaemonSet")
        account = agents["spec"]["template"]["spec"]["serviceAccountName"]
        (policy,) = of_kind(documents, "ValidatingAdmissionPolicy")
        (condition,) = policy["spec"]["matchConditions"]
        assert f"'system:serviceaccount:home:{account}'" in condition["expression"]
        (binding,) = of_kind(documents, "ValidatingAdmissionPolicyBinding")
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        bound = [
            each["subjects"][0]["name"]
            for kind in ("ClusterRoleBinding", "RoleBinding")
            for each in of_kind(documents, kind)
        ]
        assert sorted(bound).count(account) == 2


def test_the_policies_for_workloads_are_those_that_are_tested() -> None:
    for name in ("plimsoll", "mine"):
        documents = rendered(name=name, served=POLICIES_SERVED)
        policies = of_kind(documents, "MutatingAdmissionPolicy")
        bindings = of_kind(documents, "MutatingAdmissionPolicyBinding")
        parts = ("adoption", "adoption-pods", "adoption-workloads")
        for part, policy, binding in zip(parts, policies, bindings, strict=True):
            written = (CHART / "files" / f"{part}-policy.yaml").read_text()
            assert policy["spec"] == yaml.safe_load(written)
            assert policy["metadata"]["name"].endswith(f"-{part}")
            assert name in policy["metadata"]["name"]
            assert binding["spec"] == {"policyName": policy["metadata"]["name"]}


def test_there_is_no_policy_for_workloads_where_it_is_not_served_or_not_wanted() -> None:
    off = rendered("adoption.enabled=false", served=POLICIES_SERVED)
    for documents in (rendered(), off):
        assert not of_kind(documents, "MutatingAdmissionPolicy")
        assert not of_kind(documents, "MutatingAdmissionPolicyBinding")


@pytest.mark.parametrize(
    ("values", "may"),
    [
        ((), ("adoption",)),
        (("adoption.enabled=false",), ()),
        (("provisioning.enabled=true",), ("adoption", "provisioning")),
    ],
)
def test_the_operator_may_change_jobs_just_if_it_plans_them_and_buy_nodes_if_it_is_to(
    values: tuple[str, ...], may: tuple[str, ...]
) -> None:
    documents = rendered(*values)
    (container,) = pod_of(documents)["containers"]
    for name, part in (("ADOPTS_JOBS", "adoption"), ("BUYS_NODES", "provisioning")):
        value = str(part in may).lower()
        assert {"name": f"PLIMSOLL_{name}", "value": value} in container["env"]
    (role,) = (r for r in of_kind(documents, "ClusterRole") if r["metadata"]["name"] == "plimsoll")
    rules = (
        yaml.safe_load((CHART / "files" / f"{name}-rules.yaml").read_text())
        for name in ("cluster-role", *may)
    )
    assert role["rules"] == [rule for part in rules for rule in part]


def test_the_price_catalogue_is_mounted_where_the_operator_reads_it() -> None:
    pod = pod_of(rendered("provisioning.prices=node-prices"))
    (container,) = pod["containers"]
    assert {"name": "PLIMSOLL_PRICES_FILE", "value": "/prices/prices.yaml"} in container["env"]
    (mount,) = (each for each in container["volumeMounts"] if each["name"] == "prices")
    assert mount["mountPath"] == "/prices"
    (volume,) = (each for each in pod["volumes"] if each["name"] == "prices")
    assert volume["configMap"] == {"name": "node-prices", "optional": True}


def test_the_operators_selector_finds_no_agent() -> None:
    documents = rendered("agent.enabled=true")
    (agents,) = of_kind(documents, "DaemonSet")
    (operator,) = of_kind(documents, "Deployment")
    labels = agents["spec"]["template"]["metadata"]["labels"]
    assert not operator["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_value_is_refused_before_anything_is_installed(value: str) -> None:
    with pytest.raises(CommandFailedError, match="values don't meet the specifications"):
        rendered(value)


def test_alerts_lead_to_where_the_runbook_is_kept() -> None:
    place = "https://wiki.example/runbook"
    values = ("metrics.prometheusRule.enabled=true", f"metrics.prometheusRule.runbookURL={place}")
    (rule,) = of_kind(rendered(*values), "PrometheusRule")
    written = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    (applied,), (meant,) = rule["spec"]["groups"], written["groups"]
    assert [each["expr"] for each in applied["rules"]] == [each["expr"] for each in meant["rules"]]
    links = [each["annotations"]["runbook_url"] for each in applied["rules"]]
    assert links
    assert all(link.startswith(f"{place}#") for link in links)


def test_the_dashboards_are_those_that_are_tested() -> None:
    found = of_kind(rendered("metrics.dashboard.enabled=true"), "ConfigMap")
    assert all(each["metadata"]["labels"]["grafana_dashboard"] == "1" for each in found)
    texts = {name: text for each in found for name, text in each["data"].items()}
    written = {
        f"plimsoll-{file.name}": json.loads(file.read_text())
        for file in (CHART / "files" / "dashboards").iterdir()
    }
    assert len(found) == len(written) > 1
    assert {name: json.loads(text) for name, text in texts.items()} == written


def test_a_network_policy_closes_what_it_is_told_to() -> None:
    def ports(*values: str) -> dict[str, list[Any] | None]:
        (policy,) = of_kind(rendered(*values), "NetworkPolicy")
        rules = policy["spec"]["ingress"]
        return {rule["ports"][0]["port"]: rule.get("from") for rule in rules}

    prometheus = "networkPolicy.metricsFrom[0].podSelector.matchLabels.a=b"
    jobs = {"matchExpressions": [{"key": "plimsoll.dev/job-uid", "operator": "Exists"}]}
    assert ports() == {
        "http": None,
        "workers": [{"namespaceSelector": {}, "podSelector": jobs}],
    }
    assert ports(prometheus)["http"] == [{"podSelector": {"matchLabels": {"a": "b"}}}]
    assert ports(prometheus)["workers"] == ports()["workers"]
    assert ports("networkPolicy.workersFrom=null")["workers"] is None


def test_only_what_is_asked_for_is_there() -> None:
    def kinds(*values: str) -> set[str]:
        return {document["kind"] for document in rendered(*values)}

    plain = kinds()
    assert plain - kinds("networkPolicy.enabled=false") == {"NetworkPolicy"}
    assert plain - kinds("replicaCount=1") == {"PodDisruptionBudget"}
    assert plain - kinds("crds.install=false") == {"CustomResourceDefinition"}
    for part, kind in {
        "metrics.serviceMonitor": "ServiceMonitor",
        "metrics.podMonitor": "PodMonitor",
        "metrics.prometheusRule": "PrometheusRule",
        "metrics.dashboard": "ConfigMap",
    }.items():
        assert kinds(f"{part}.enabled=true") - plain == {kind}
    assert kinds("agent.enabled=true") - plain == {
        "DaemonSet",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    for monitor in ("podMonitor", "serviceMonitor"):
        monitored = rendered("agent.enabled=true", f"metrics.{monitor}.enabled=true")
        names = {each["metadata"]["name"] for each in of_kind(monitored, "PodMonitor")}
        assert "plimsoll-agent" in names
    for monitor, kind in (("podMonitor", "PodMonitor"), ("serviceMonitor", "ServiceMonitor")):
        monitored = rendered("console.enabled=true", f"metrics.{monitor}.enabled=true")
        names = {each["metadata"]["name"] for each in of_kind(monitored, kind)}
        assert names == {"plimsoll", "plimsoll-console"}
    closed = rendered("agent.enabled=true")
    assert len(of_kind(closed, "NetworkPolicy")) == 2
    roles = {each["metadata"]["name"] for each in of_kind(rendered(), "ClusterRole")}
    fewer = rendered("rbac.aggregateToUserRoles=false")
    assert {each["metadata"]["name"] for each in of_kind(fewer, "ClusterRole")} < roles


@pytest.mark.parametrize(
    ("values", "image"),
    [
        (("image.tag=v1",), "plimsoll-operator:v1"),
        ((f"image.digest={DIGEST}", "image.tag=v1"), f"plimsoll-operator@{DIGEST}"),
        (("image.repository=a.example/b", "image.tag=v1"), "a.example/b:v1"),
    ],
)
def test_the_image_is_the_one_that_is_named(values: tuple[str, ...], image: str) -> None:
    assert pod_of(rendered(*values))["containers"][0]["image"] == image


def test_the_releases_name_is_in_all_names() -> None:
    for name, expected in (("plimsoll", "plimsoll"), ("mine", "mine-plimsoll")):
        documents = rendered(name=name)
        kinds = ("Deployment", "Service", "ServiceAccount", "ClusterRole", "Role")
        names = [each["metadata"]["name"] for kind in kinds for each in of_kind(documents, kind)]
        assert names
        assert all(each.startswith(expected) for each in names)


def test_the_chart_of_a_release_installs_the_image_of_that_release_and_no_other(
    tmp_path: Path,
) -> None:
    image = "registry.example/team/plimsoll-operator"
    run(
        "make",
        f"--directory={ROOT}",
        "chart",
        f"DIST={tmp_path}",
        f"IMAGE={image}",
        f"DIGEST={DIGEST}",
    )
    (package,) = tmp_path.iterdir()
    documents = manifests_in(run("helm", "template", "x", package))
    (container,) = pod_of(documents)["containers"]
    assert container["image"] == f"{image}@{DIGEST}"
    assert of_kind(documents, "CustomResourceDefinition") == of_kind(
        rendered(), "CustomResourceDefinition"
    )

"""From the version before to this one, back, and away: as docs/guides/upgrade.md says.

On a real API server without nodes. Other tests say what the operator then does with the objects.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from harness.commands import run
from harness.release import CHART, NAME
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.processes.control_plane import ControlPlane
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from support.objects.previous_version import CHART as OLD_CHART
from support.objects.previous_version import VERSION as OLD_VERSION
from support.objects.previous_version import (
    definitions,
    filled,
    kept,
    objects,
    schema_of,
    without_news,
)

pytestmark = pytest.mark.usefixtures("helm")

NAMESPACE = "upgraded"
GROUP = "/apis/plimsoll.dev/v1alpha1"
EXAMPLES = CHART.parents[1] / "examples"
Key = tuple[str, str]  # the kind and name of an object


@dataclass(frozen=True, slots=True)
class Site:
    """An API server on which one release is installed and changed."""

    server: ControlPlane

    @property
    def api(self) -> ApiServer:
        """The API server."""
        return self.server.api

    def helm(self, *arguments: str) -> str:
        where = f"--namespace={NAMESPACE}", f"--kubeconfig={self.server.kubeconfig}"
        return run("helm", *arguments, *where)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        program = find_programs(os.environ) / "kubectl"
        where = f"--namespace={NAMESPACE}", f"--kubeconfig={self.server.kubeconfig}"
        return run(program, *where, *arguments, stdin=stdin)

    def deployment(self) -> Manifest:
        return self.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}")

    def image(self) -> str:
        (container,) = self.deployment()["spec"]["template"]["spec"]["containers"]
        return container["image"]

    def objects(self) -> dict[Key, Manifest]:
        """All objects of ours."""
        kinds = ",".join(d["metadata"]["name"] for d in definitions().values())
        items = json.loads(self.kubectl("get", kinds, "--output=json"))["items"]
        return {(each["kind"], each["metadata"]["name"]): each for each in items}


def path(manifest: Manifest, name: str = "") -> str:
    spec = definitions()[manifest["kind"]]["spec"]
    within = f"/namespaces/{NAMESPACE}" if spec["scope"] == "Namespaced" else ""
    return f"{GROUP}{within}/{spec['names']['plural']}" + (f"/{name}" if name else "")


def full_status(kind: str) -> Manifest:
    """A status in which the version before has set all that it knows."""
    return filled(schema_of(definitions()[kind]))["status"]


@pytest.fixture(scope="module")
def site(server: ControlPlane) -> Iterator[Site]:
    """Where the version before was installed with a value of the user's, and used."""
    site = Site(server)
    user_value = "--set=replicaCount=3"
    site.helm("install", NAME, str(OLD_CHART), "--create-namespace", user_value)
    for each in objects():
        name = each["metadata"]["name"]
        site.api.create(path(each), each)
        site.api.merge(f"{path(each, name)}/status", {"status": full_status(each["kind"])})
    yield site
    site.helm("uninstall", NAME, "--ignore-not-found")
    site.kubectl("delete", "crd", "--selector=app.kubernetes.io/part-of=plimsoll")


@pytest.fixture(scope="module")
def before(site: Site) -> dict[Key, Manifest]:
    """The objects under the version before."""
    before = site.objects()
    assert len(before) == len(objects())
    assert all(each["status"] == full_status(each["kind"]) for each in before.values())
    return before


@pytest.fixture(scope="module")
def upgraded(site: Site, before: dict[Key, Manifest]) -> Site:
    """The same after the upgrade."""
    assert before
    tag = "--set=image.tag=new"
    site.helm("upgrade", NAME, str(CHART), "--reset-then-reuse-values", tag)
    return site


@pytest.fixture(scope="module")
def in_use(upgraded: Site) -> Site:
    """The same, whose users have applied this version's examples and the fields in NEW.

    Jobs are new ones, for most fields of one that runs are fixed.
    """
    found = (each for file in EXAMPLES.rglob("*.yaml") for each in manifests_in(file.read_text()))
    new = [each for each in found if each["apiVersion"].startswith("plimsoll.dev/")]
    applied = ("apply", "--server-side", "--force-conflicts", "--validate=strict")
    where = ("--namespace=default", "--filename=-")
    # As JSON, for in YAML a text such as 1e-3 would be written as a number.
    listed = {"apiVersion": "v1", "kind": "List", "items": new}
    upgraded.kubectl(*applied, *where, stdin=json.dumps(listed))
    for (kind, name), spec in NEW.items():
        upgraded.api.merge(path({"kind": kind}, name), {"spec": spec})
    return upgraded


# What the version before does not know.
NEW: dict[Key, Manifest] = {
    ("JobQueue", "research"): {"namespaceSelector": {"matchLabels": {"team": "vision"}}},
    ("PowerDomain", "row-a"): {"quantile": "0.95"},
}


def test_the_version_before_was_another() -> None:
    now = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    assert [int(n) for n in OLD_VERSION.split(".")] < [int(n) for n in now.split(".")]


def test_an_upgrade_leaves_objects_and_their_statuses_as_they_are(
    upgraded: Site, before: dict[Key, Manifest]
) -> None:
    after = upgraded.objects()
    assert after.keys() == before.keys()
    for key, old in before.items():
        new = after[key]
        assert new["metadata"]["uid"] == old["metadata"]["uid"]
        assert new["metadata"]["generation"] == old["metadata"]["generation"]
        spec = kept(old)["spec"]
        assert without_news(new["spec"], spec) == spec
        assert without_news(new["status"], old["status"]) == old["status"]
    assert upgraded.deployment()["spec"]["replicas"] == 3
    assert upgraded.image().endswith(":new")


def test_the_definitions_say_which_version_they_are_of(upgraded: Site) -> None:
    selector = "labelSelector=app.kubernetes.io/part-of%3Dplimsoll"
    found = upgraded.api.items(
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions?{selector}"
    )
    now = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    versions = {d["metadata"]["labels"]["app.kubernetes.io/version"] for d in found}
    assert (len(found), versions) == (len(definitions()), {now})


def test_what_was_valid_can_be_made_and_reported_anew(
    upgraded: Site, before: dict[Key, Manifest]
) -> None:
    """In new objects: of old ones the API server checks only what changes."""
    for old in map(kept, before.values()):
        name = f"copy-of-{old['metadata']['name']}"
        copy = {"metadata": {"name": name}, **{f: old[f] for f in ("apiVersion", "kind", "spec")}}
        if old["kind"] == "PlacementPolicy":
            copy["metadata"]["name"], query = "default", "?dryRun=All"
            made = upgraded.api.merge(path(old, "default") + query, {"spec": old["spec"]})
            assert without_news(made["spec"], old["spec"]) == old["spec"]
            continue
        made = upgraded.api.create(path(old), copy)
        assert without_news(made["spec"], old["spec"]) == old["spec"]
        said = upgraded.api.merge(f"{path(old, name)}/status", {"status": old["status"]})
        assert said["status"] == old["status"]
        upgraded.api.delete(path(old, name))


def test_new_fields_are_kept_beside_what_was_there(
    in_use: Site, before: dict[Key, Manifest]
) -> None:
    after = in_use.objects()
    for key, old in before.items():
        assert after[key]["metadata"]["uid"] == old["metadata"]["uid"]
        assert without_news(after[key]["status"], old["status"]) == old["status"]
    for key, spec in NEW.items():
        assert without_news(after[key]["spec"], spec) == spec


def test_the_program_alone_goes_back_and_new_fields_stay(in_use: Site) -> None:
    in_use.helm("upgrade", NAME, str(CHART), "--reuse-values", f"--set=image.tag={OLD_VERSION}")
    assert in_use.image().endswith(f":{OLD_VERSION}")
    after = in_use.objects()
    for key, spec in NEW.items():
        assert without_news(after[key]["spec"], spec) == spec


@pytest.fixture(scope="module")
def rolled_back(in_use: Site) -> Site:
    """Back at the version before, with its definitions."""
    in_use.helm("rollback", NAME, "1")
    return in_use


def test_a_rollback_leaves_all_but_the_new_fields(
    rolled_back: Site, before: dict[Key, Manifest]
) -> None:
    after = rolled_back.objects()
    for key, old in before.items():
        assert after[key]["metadata"]["uid"] == old["metadata"]["uid"]
        assert after[key]["status"] == old["status"]
        assert after[key]["spec"].keys().isdisjoint(NEW.get(key, ())), "as the upgrade guide warns"
    assert not rolled_back.image().endswith(":new")


def test_new_fields_outlast_a_rollback_where_nobody_writes(rolled_back: Site) -> None:
    written, other = NEW
    rolled_back.api.merge(path({"kind": written[0]}, written[1]), {"spec": {"weight": 7}})
    rolled_back.helm("upgrade", NAME, str(CHART), "--reset-then-reuse-values")
    after = rolled_back.objects()
    assert "namespaceSelector" not in after[written]["spec"]
    assert without_news(after[other]["spec"], NEW[other]) == NEW[other]


def test_what_users_made_outlasts_the_release_and_is_taken_up_by_the_next(
    rolled_back: Site, before: dict[Key, Manifest]
) -> None:
    rolled_back.helm("uninstall", NAME)
    assert not rolled_back.api.items(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")
    left = rolled_back.objects()
    assert {key: left[key]["metadata"]["uid"] for key in before} == {
        key: old["metadata"]["uid"] for key, old in before.items()
    }
    rolled_back.helm("install", NAME, str(CHART))
    assert rolled_back.objects() == left

"""Where the controllers of other workloads come from, and what becomes of their webhooks."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_devcluster.programs.source_failed import SourceFailedError
from plimsoll_devcluster.programs.sources import Source
from plimsoll_devcluster.programs.workload_controllers import (
    JOBSET,
    TRAINER,
    NoWorkloadControllerError,
    find_controller,
)
from plimsoll_devcluster.workload_controllers.webhooks import configurations, path_of

VARIABLE = "PLIMSOLL_WORKLOAD_CONTROLLERS"


def put(folder: Path) -> None:
    for name in ("crds", "webhooks"):
        (folder / name).mkdir(parents=True)
    (folder / "jobset").touch(mode=0o755)


def unwanted(_folder: Path) -> None:
    pytest.fail("this source was not to be asked")


def broken(_folder: Path) -> None:
    raise SourceFailedError("there is no Go on this machine")


def test_a_given_folder_comes_first(tmp_path: Path) -> None:
    put(tmp_path / JOBSET.folder_name)
    environment = {VARIABLE: str(tmp_path)}
    found = find_controller(JOBSET, environment, [Source("build", unwanted)])
    assert found == tmp_path / JOBSET.folder_name


def test_a_given_folder_without_the_program_is_not_passed_over(tmp_path: Path) -> None:
    put(tmp_path / JOBSET.folder_name)
    with pytest.raises(NoWorkloadControllerError, match="no trainer"):
        find_controller(TRAINER, {VARIABLE: str(tmp_path)}, [Source("build", unwanted)])


def test_what_is_built_is_kept(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    found = find_controller(JOBSET, environment, [Source("build", put)])
    assert found == tmp_path / "plimsoll" / JOBSET.folder_name
    assert find_controller(JOBSET, environment, [Source("build", unwanted)]) == found


def test_without_any_the_error_names_every_way_out(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(NoWorkloadControllerError) as caught:
        find_controller(JOBSET, environment, [Source("build", broken)])
    for way in ("no Go", VARIABLE, JOBSET.folder_name, "module proxy"):
        assert way in str(caught.value)


def write(folder: Path, name: str, *documents: Any) -> None:  # noqa: ANN401 - any YAML
    (folder / name).write_text(yaml.safe_dump_all(documents))


def a_configuration(kind: str, *names: str) -> dict[str, Any]:
    hooks = [
        {
            "name": name,
            "failurePolicy": "Fail",
            "clientConfig": {"service": {"name": "s", "namespace": "n", "path": f"/{name}"}},
        }
        for name in names
    ]
    return {"kind": kind, "metadata": {"name": "upstream"}, "webhooks": hooks}


def test_webhooks_are_patched_as_upstream_does_and_served_on_loopback(tmp_path: Path) -> None:
    kind = "ValidatingWebhookConfiguration"
    other = a_configuration("MutatingWebhookConfiguration", "c")
    write(tmp_path, "manifests.yaml", a_configuration(kind, "a", "b"), other)
    only = {"matchLabels": {"x": "y"}}
    patch = [{"op": "add", "path": "/webhooks/1/objectSelector", "value": only}]
    write(tmp_path, "patch.yaml", patch)
    write(
        tmp_path,
        "kustomization.yaml",
        {"patches": [{"path": "patch.yaml", "target": {"kind": kind}}]},
    )
    found = configurations(tmp_path, name="n", url="https://127.0.0.1:1", authority=b"pem")
    client = {"url": "https://127.0.0.1:1/b", "caBundle": base64.b64encode(b"pem").decode()}
    assert found[0]["webhooks"][1] == {
        "name": "b",
        "failurePolicy": "Fail",
        "clientConfig": client,
        "objectSelector": only,
    }
    assert [path_of(each).rpartition("/v1/")[2] for each in found] == [
        "validatingwebhookconfigurations/n",
        "mutatingwebhookconfigurations/n",
    ]

"""Karpenter as a child of this process, with a cloud in which instances can be scarce."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.karpenter.instance_types import INSTANCE_TYPES, instance_types_file
from plimsoll_devcluster.programs.karpenter_program import KARPENTER
from plimsoll_devcluster.waiting import wait_until
from plimsoll_devcluster.workload_controllers.controller import WorkloadController
from plimsoll_devcluster.workload_controllers.kinds import ControllerKind, Place

NODE_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
NODE_CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
COLLECTIONS = (NODE_POOLS, NODE_CLAIMS, NODES, NODE_CLASSES)
PROVIDER = "kwok://"
INSTANCE_TYPES_FILE = "instance-types.json"
CAPACITY_FILE = "capacity.json"
GONE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Limit:
    """How many instances there can be at a time of those named: any, where a field is empty."""

    nodes: int
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""


class Karpenter:
    """Karpenter with KWOK's cloud, which has as many instances as it is told. A context manager.

    `folder` is that of `find_controller`. It can be started and stopped repeatedly.
    """

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._api = ApiServer(kubeconfig)
        kind = ControllerKind(KARPENTER, own_flags=_flags)
        self._controller = WorkloadController(kind, folder, kubeconfig)
        file = self._controller.folder / INSTANCE_TYPES_FILE
        file.write_text(json.dumps(instance_types_file(INSTANCE_TYPES)))

    @property
    def log(self) -> Path:
        """What it logs."""
        return self._controller.log

    def start(self) -> Self:
        """Start it, and wait until it is ready. Raises WorkloadControllerFailedError."""
        self._controller.start()
        return self

    def is_running(self) -> bool:
        """Whether it runs."""
        return self._controller.is_running()

    def stop(self) -> None:
        """End it, as a crash would. What it has made stays, and cannot be deleted meanwhile."""
        self._controller.stop()

    def limit(self, *limits: Limit) -> None:
        """Have the cloud hold just to these limits from its next launch on; without any, to none.

        Instances that there are already count, and stay.
        """
        file = self._controller.folder / CAPACITY_FILE
        new = file.with_suffix(".new")
        new.write_text(json.dumps([_as_json(limit) for limit in limits]))
        new.replace(file)

    def clear(self) -> None:
        """Lift all limits, and remove at once all that it has made or been given, undrained."""
        self.limit()
        wait_until(
            self._is_clear, timeout_seconds=GONE_SECONDS, what="there is nothing of Karpenter's"
        )

    def _is_clear(self) -> bool:
        """Whether there is nothing of Karpenter's; what there is is deleted: more may be coming."""
        found = [f"{all_of}/{name}" for all_of in COLLECTIONS for name in self._names(all_of)]
        for path in found:
            self._api.delete(path)
            # Else it would be drained, and a drain takes five seconds or waits for a pod.
            with suppress(ApiServerRefusedError):
                self._api.merge(path, {"metadata": {"finalizers": None}})
        return not found

    def _names(self, collection: str) -> list[str]:
        return [
            each["metadata"]["name"]
            for each in self._api.items(collection)
            if collection != NODES or each["spec"].get("providerID", "").startswith(PROVIDER)
        ]

    def __enter__(self) -> Self:
        self._controller.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.clear()
        finally:
            self._controller.__exit__(kind, error, trace)


def _flags(place: Place) -> Mapping[str, object]:
    return {
        "disable-leader-election": "true",
        "health-probe-port": place.probe_port,
        "metrics-port": place.metrics_port,
        "instance-types-file-path": place.folder / INSTANCE_TYPES_FILE,
    }


def _as_json(limit: Limit) -> Mapping[str, object]:
    return {
        "nodes": limit.nodes,
        "instanceType": limit.instance_type,
        "zone": limit.zone,
        "capacityType": limit.capacity_type,
    }

"""All kinds of workloads that can be planned. Another kind is one more adapter in here."""

from typing import Any, Final

from plimsoll.kube.objects.objects import OwnerReference
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reference
from plimsoll.observe.adoption.kinds.adapter import Adapter
from plimsoll.observe.adoption.kinds.app_wrappers import WRAPPED, AppWrappers
from plimsoll.observe.adoption.kinds.kubeflow_jobs import (
    JAXJobs,
    MPIJobs,
    PaddleJobs,
    TFJobs,
    XGBoostJobs,
)
from plimsoll.observe.adoption.kinds.pod_groups import PlainPods, PodGroups
from plimsoll.observe.adoption.kinds.train_jobs import TrainJobs

ADAPTERS: Final[tuple[Adapter[Any], ...]] = (
    *WRAPPED,
    TrainJobs(),
    TFJobs(),
    MPIJobs(),
    JAXJobs(),
    XGBoostJobs(),
    PaddleJobs(),
    AppWrappers(),
    PodGroups(),
)
_BY_TYPE: Final = {each.type: each for each in (*ADAPTERS, PlainPods())}
_BY_KIND: Final = {(each.api_version, each.kind): each for each in ADAPTERS}

_MAKERS: Final = {(each.api_version, each.kind): each for each in ADAPTERS if each.makes}


def adapter_of(item: WorkloadObject) -> Adapter[Any]:
    """The adapter of an object's kind."""
    return _BY_TYPE[type(item)]


def adapter_of_kind(api_version: str, kind: str) -> Adapter[Any] | None:
    """The adapter of a kind; None if such objects cannot be planned."""
    return _BY_KIND.get((api_version, kind))


def adapter_at(reference: Reference) -> Adapter[Any]:
    """The adapter of an adopted workload's kind."""
    return _BY_KIND[reference.api_version, reference.kind]


def maker_of(item: WorkloadObject) -> OwnerReference | None:
    """The workload that makes an object, and by it pods of its own; None if nothing does."""
    own = adapter_of(item)
    owner = item.metadata.controller
    maker = _MAKERS.get((owner.api_version, owner.kind)) if owner is not None else None
    is_made = maker is not None and (own.api_version, own.kind) in maker.makes
    return owner if is_made else None


def has_labels_of_maker(item: WorkloadObject) -> bool:
    """Whether an object's labels are those of the workload that has made it."""
    maker = maker_of(item)
    return maker is not None and _MAKERS[maker.api_version, maker.kind].hands_on_labels


def is_maker(api_version: str, kind: str) -> bool:
    """Whether objects of a kind make other workloads, and by them their pods."""
    return (api_version, kind) in _MAKERS

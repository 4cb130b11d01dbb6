"""An AppWrapper, reduced to the fields by which it is planned, held and placed."""

from collections.abc import Mapping
from typing import Any, Final

from plimsoll.kube.objects.objects import Labels, SchedulingGate, Toleration, Wire
from plimsoll.kube.objects.workload_parts import Number, WorkloadCondition, WorkloadObject

_NONE: Final[Mapping[str, Any]] = {}


class PodSetInfo(Wire, frozen=True):
    """What is added to the template of a component's pods."""

    node_selector: Labels = _NONE
    tolerations: tuple[Toleration, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class Component(Wire, frozen=True):
    """An object that is wrapped, as its user would apply it, and what is added to its pods."""

    template: Mapping[str, Any] = _NONE
    pod_set_infos: tuple[PodSetInfo, ...] = ()


class AppWrapperSpec(Wire, frozen=True):
    """What is wrapped, and whether none of it may exist now."""

    suspend: bool = False
    managed_by: str = ""
    components: tuple[Component, ...] = ()


class ComponentPods(Wire, frozen=True):
    """Where the template of a component's pods is, such as `template.spec.template`."""

    path: str


class ComponentStatus(Wire, frozen=True):
    """What has been made of a component, and its pods in the order of `podSetInfos`."""

    name: str = ""
    pod_sets: tuple[ComponentPods, ...] = ()


class AppWrapperStatus(Wire, frozen=True):
    """How an AppWrapper stands, and how often it has made everything anew."""

    phase: str = ""
    resetting_count: Number = 0
    conditions: tuple[WorkloadCondition, ...] = ()
    component_status: tuple[ComponentStatus, ...] = ()


class AppWrapper(WorkloadObject, frozen=True):
    """A workload.codeflare.dev/v1beta2 AppWrapper."""

    spec: AppWrapperSpec = AppWrapperSpec()
    status: AppWrapperStatus = AppWrapperStatus()

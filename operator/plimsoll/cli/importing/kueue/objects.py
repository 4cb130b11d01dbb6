"""Kueue's kinds, reduced to the fields that are carried over or said not to be.

`v1beta1` and `v1beta2` differ in two fields: `cohort` became `cohortName`, and `admissionChecks`
was dropped. Both spellings are read.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from plimsoll.api.values.quantities import parse_quantity
from plimsoll.errors import InvalidQuantity
from plimsoll.kube.objects.objects import LabelSelector, ObjectMeta, Toleration, Wire

GROUP: Final = "kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
"""The versions that are read, the preferred one first."""


class Amount(Decimal):
    """A quantity of 0 or above."""


class FairSharing(Wire, frozen=True):
    """A node's advantage when idle quota is shared."""

    weight: Amount | None = None


class ResourceQuota(Wire, frozen=True):
    """A quota of one resource in one flavor."""

    name: str
    nominal_quota: Amount = Amount(0)
    borrowing_limit: Amount | None = None
    lending_limit: Amount | None = None


class FlavorQuotas(Wire, frozen=True):
    """The quotas in one flavor."""

    name: str
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(Wire, frozen=True):
    """Flavors in order of preference."""

    flavors: tuple[FlavorQuotas, ...] = ()


class BorrowWithinCohort(Wire, frozen=True):
    """Preemption of others by who must borrow."""

    policy: str = "Never"
    max_priority_threshold: int | None = None


class Preemption(Wire, frozen=True):
    """Who may be preempted."""

    reclaim_within_cohort: str = "Never"
    within_cluster_queue: str = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


class FlavorFungibility(Wire, frozen=True):
    """When the next flavor is tried."""

    when_can_borrow: str = ""
    when_can_preempt: str = ""
    preference: str = ""


class AdmissionScope(Wire, frozen=True):
    """Whether past use of LocalQueues counts."""

    admission_mode: str = ""


class ClusterQueueSpec(Wire, frozen=True):
    """A ClusterQueue's quotas and policies; `None` as selector admits nobody."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort_name: str = ""
    cohort: str = ""
    queueing_strategy: str = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: Preemption = Preemption()
    admission_checks: tuple[str, ...] = ()
    admission_checks_strategy: Mapping[str, Any] | None = None
    stop_policy: str = "None"
    fair_sharing: FairSharing = FairSharing()
    admission_scope: AdmissionScope = AdmissionScope()
    concurrent_admission_policy: Mapping[str, Any] | None = None


class ClusterQueue(Wire, frozen=True):
    """A ClusterQueue."""

    metadata: ObjectMeta
    spec: ClusterQueueSpec = ClusterQueueSpec()

    @property
    def parent(self) -> str:
        """The Cohort that it belongs to; "" without one."""
        return self.spec.cohort_name or self.spec.cohort


class CohortSpec(Wire, frozen=True):
    """Quotas that a Cohort adds to those of its members."""

    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_sharing: FairSharing = FairSharing()


class Cohort(Wire, frozen=True):
    """A Cohort."""

    metadata: ObjectMeta
    spec: CohortSpec = CohortSpec()

    @property
    def parent(self) -> str:
        """The Cohort above; "" at the root."""
        return self.spec.parent_name


class LocalQueueSpec(Wire, frozen=True):
    """The ClusterQueue that a namespace may use."""

    cluster_queue: str = ""
    stop_policy: str = "None"
    fair_sharing: FairSharing = FairSharing()


class LocalQueue(Wire, frozen=True):
    """A LocalQueue."""

    metadata: ObjectMeta
    spec: LocalQueueSpec = LocalQueueSpec()


class ResourceFlavorSpec(Wire, frozen=True):
    """The nodes of a flavor; `node_taints` say what these nodes have anyway."""

    node_labels: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


class ResourceFlavor(Wire, frozen=True):
    """A ResourceFlavor."""

    metadata: ObjectMeta
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class TopologyLevel(Wire, frozen=True):
    """A level of a Topology."""

    node_label: str


class TopologySpec(Wire, frozen=True):
    """Levels, widest first."""

    levels: tuple[TopologyLevel, ...] = ()


class Topology(Wire, frozen=True):
    """A Topology."""

    metadata: ObjectMeta
    spec: TopologySpec = TopologySpec()


class WorkloadPriorityClass(Wire, frozen=True):
    """A WorkloadPriorityClass."""

    metadata: ObjectMeta
    value: int = 0
    description: str = ""


KueueObject = ClusterQueue | Cohort | LocalQueue | ResourceFlavor | Topology | WorkloadPriorityClass
KINDS: Final[Mapping[str, type[KueueObject]]] = {
    "ClusterQueue": ClusterQueue,
    "Cohort": Cohort,
    "LocalQueue": LocalQueue,
    "ResourceFlavor": ResourceFlavor,
    "Topology": Topology,
    "WorkloadPriorityClass": WorkloadPriorityClass,
}


def kueue_object(kind: type[KueueObject], raw: Mapping[str, Any]) -> KueueObject:
    """The object. Raises msgspec.ValidationError, which names the field."""
    return msgspec.convert(raw, kind, dec_hook=_amount)


def _amount(kind: type, value: object) -> object:
    if kind is not Amount:
        raise NotImplementedError(kind)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("must be a quantity, such as 8 or '0.5'")
    try:
        found = parse_quantity(value if isinstance(value, int) else str(value))
    except InvalidQuantity as error:
        raise ValueError(str(error)) from error
    if found < 0:
        raise ValueError(f"must be at least 0; it is {value}")
    return Amount(found)

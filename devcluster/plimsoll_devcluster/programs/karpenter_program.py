"""Karpenter as a program: found, or built, as the controllers of workloads are."""

from plimsoll_devcluster.programs import versions
from plimsoll_devcluster.programs.go_build import HACK
from plimsoll_devcluster.programs.workload_controllers import CRDS, ControllerProgram

KARPENTER = ControllerProgram(
    name="karpenter",
    title="Karpenter",
    version=versions.KARPENTER,
    module="sigs.k8s.io/karpenter",
    package=".",
    build_in=HACK / "karpenter",
    # Its own and those of KWOK's cloud, in two folders.
    beside={CRDS: "kwok/**/crds/karpenter*.yaml"},
)

"""The commands `plimsoll import kueue` and `plimsoll import karpenter`, and their options."""

import argparse
import re
import sys

from plimsoll.cli.inputs.options import add_connection, add_filename

NAME = "import"
ABOUT = "turn Kueue's queues or Karpenter's NodePools into Plimsoll's objects"
EXAMPLE = "kueue >queues.yaml"
_KUEUE = "turn Kueue's queues and flavors into JobQueues and GPUPools"
_KARPENTER = "turn Karpenter's NodePools into GPUPools that buy their nodes from Karpenter"
_OF_KUEUE = """\
Reads ClusterQueues, Cohorts, LocalQueues, ResourceFlavors, Topologies and
WorkloadPriorityClasses (kueue.x-k8s.io/v1beta2 or v1beta1), and prints
JobQueues, GPUPools and PriorityClasses as YAML for kubectl apply. What cannot
be carried over is listed at the head of the YAML and on standard error, with
what to do. Nothing is written or changed, in Kueue or elsewhere.

Without -f, the cluster of your kubeconfig is read, as with kubectl; you need
the right to list these kinds. PATH is a file of manifests, a folder of such
files, or - for standard input; Nodes among them say which GPUs a flavor has.

examples:
  plimsoll import kueue >queues.yaml
      what your cluster's Kueue becomes

  kubectl get clusterqueues,cohorts,localqueues,resourceflavors,\\
topologies,workloadpriorityclasses,nodes -A -o json | plimsoll import kueue -f -

  plimsoll import kueue -f kueue/ --gpu-type a100=NVIDIA-A100-SXM4-80GB
      name the GPU type of a flavor whose labels do not

exit status:
  0 if there is something to apply, even if not all was carried over;
  2 if the files, options or cluster cannot be used, or nothing is carried over.
"""
_OF_KARPENTER = """\
Reads NodePools (karpenter.sh/v1), and prints a GPUPool for each instance type,
zone and capacity type that they allow, as YAML for kubectl apply. What cannot
be carried over is listed at the head of the YAML and on standard error, with
what to do. Nothing is written or changed: the NodePools stay as they are.

Which GPUs an instance type has is known of those of AWS and Azure, and of the
instance types of your nodes; --gpu-type says it of others.

Without -f, the cluster of your kubeconfig is read, as with kubectl; you need
the right to list NodePools and Nodes. PATH is a file of manifests, a folder of
such files, or - for standard input; Nodes among them say which GPUs they have.

examples:
  plimsoll import karpenter >pools.yaml
      what your cluster's NodePools become

  kubectl get nodepools,nodes -o json | plimsoll import karpenter -f -

  plimsoll import karpenter -f nodepools/ --gpu-type bigbox.8=NVIDIA-H200:8
      say which GPUs an instance type has

exit status:
  0 if there is something to apply, even if not all was carried over;
  2 if the files, options or cluster cannot be used, or nothing is carried over.
"""
_TYPE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_MOST_GPUS = 1024
_Verbatim = argparse.RawDescriptionHelpFormatter


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add those whose objects are read, and their options, to the parser."""
    sources = parser.add_subparsers(title="sources", metavar="SOURCE", required=True)
    kueue = sources.add_parser("kueue", help=_KUEUE, formatter_class=_Verbatim)
    _describe(kueue, _KUEUE, _OF_KUEUE, "Kueue's objects, and of Nodes")
    kueue.add_argument(
        "--gpu-type",
        metavar="FLAVOR=TYPE",
        type=_gpu_type,
        action="append",
        help="the GPU type of a flavor's nodes, by its product label",
    )
    kueue.set_defaults(source="kueue")
    pools = sources.add_parser("karpenter", help=_KARPENTER, formatter_class=_Verbatim)
    _describe(pools, _KARPENTER, _OF_KARPENTER, "NodePools and Nodes")
    pools.add_argument(
        "--gpu-type",
        metavar="INSTANCE=TYPE:COUNT",
        type=_machine,
        action="append",
        help="the GPUs of an instance type",
    )
    pools.set_defaults(source="karpenter")


def _describe(parser: argparse.ArgumentParser, about: str, more: str, manifests: str) -> None:
    """What it is for, and where it reads."""
    parser.description, parser.epilog = f"{about[0].upper()}{about[1:]}.", more
    add_filename(parser, f"manifests of {manifests}, instead of a cluster")
    add_connection(parser)


def _gpu_type(text: str) -> tuple[str, str]:
    flavor, _, kind = text.partition("=")
    if not flavor or not _TYPE.fullmatch(kind):
        example = "such as a100=NVIDIA-A100-SXM4-80GB"
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form FLAVOR=TYPE, {example}")
    return flavor, kind


def _machine(text: str) -> tuple[str, str, int]:
    instance, _, gpus = text.partition("=")
    kind, _, count = gpus.rpartition(":")
    is_count = count.isascii() and count.isdigit() and 1 <= int(count) <= _MOST_GPUS
    if not instance or not _TYPE.fullmatch(kind) or not is_count:
        example = "such as p5.48xlarge=NVIDIA-H100-80GB-HBM3:8"
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form INSTANCE=TYPE:COUNT, {example}"
        )
    return instance, kind, int(count)


def run(options: argparse.Namespace) -> int:
    """Print the manifests and return the exit status. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.importing.karpenter.imported import of_node_pools  # noqa: PLC0415
    from plimsoll.cli.importing.kueue.imported import of_queues  # noqa: PLC0415

    found = of_queues(options) if options.source == "kueue" else of_node_pools(options)
    sys.stdout.write(found.text)
    sys.stderr.write("".join(f"plimsoll: {each}\n" for each in found.notes))
    return 0 if found.documents else 2

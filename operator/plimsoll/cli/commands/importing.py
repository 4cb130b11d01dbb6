"""The command `plimsoll import kueue` and its options."""

import argparse
import re
import sys

NAME = "import"
ABOUT = "turn another scheduler's queues into Plimsoll's"
EXAMPLE = "kueue >queues.yaml"
_KUEUE = "turn Kueue's queues and flavors into JobQueues and GPUPools"
_MORE = """\
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
_TYPE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def set_up(parser: argparse.ArgumentParser) -> None:
    """Add the schedulers and their options to the parser."""
    sources = parser.add_subparsers(title="schedulers", metavar="SCHEDULER", required=True)
    kueue = sources.add_parser(
        "kueue",
        help=_KUEUE,
        description=f"{_KUEUE[0].upper()}{_KUEUE[1:]}.",
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kueue.add_argument(
        "-f",
        "--filename",
        metavar="PATH",
        action="append",
        default=[],
        help="manifests of Kueue's objects, and of Nodes, instead of a cluster",
    )
    kueue.add_argument(
        "--gpu-type",
        metavar="FLAVOR=TYPE",
        type=_gpu_type,
        action="append",
        help="the GPU type of a flavor's nodes, by its product label",
    )
    kueue.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig file to use")
    kueue.add_argument("--context", metavar="NAME", help="kubeconfig context to use")


def _gpu_type(text: str) -> tuple[str, str]:
    flavor, _, kind = text.partition("=")
    if not flavor or not _TYPE.fullmatch(kind):
        example = "such as a100=NVIDIA-A100-SXM4-80GB"
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form FLAVOR=TYPE, {example}")
    return flavor, kind


def run(options: argparse.Namespace) -> int:
    """Print the manifests and return the exit status. Raises BadInput."""
    # The models take a second to import; --help should not wait for them.
    from plimsoll.cli.importing.kueue.imported import imported  # noqa: PLC0415

    found = imported(options)
    sys.stdout.write(found.text)
    sys.stderr.write("".join(f"plimsoll: {each}\n" for each in found.notes))
    return 0 if found.documents else 2

"""`make demo`: Plimsoll's main job, for real, on a temporary control plane.

A cluster of fake nodes with different GPUs, the operator as a process, a dozen jobs that demand
more than there is. On a terminal it stays until Ctrl-C; otherwise it checks what it shows, and
ends.
"""

import os
import sys
import textwrap
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster, open_cluster
from plimsoll_devcluster.crds import install_crds
from plimsoll_devcluster.fake_nodes import ready_nodes
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.processes.ending import end_on_signals
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
URGENT = "train-urgent.yaml"
API = "/apis/plimsoll.dev/v1alpha1"
PLURALS = {
    "Node": "/api/v1/nodes",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "GPUPool": f"{API}/gpupools",
    "PowerDomain": f"{API}/powerdomains",
    "JobQueue": f"{API}/jobqueues",
    "PlacementPolicy": f"{API}/placementpolicies",
    "TrainingJob": f"{API}/namespaces/default/trainingjobs",
    "InferenceJob": f"{API}/namespaces/default/inferencejobs",
}
JOB_KINDS = ("TrainingJob", "InferenceJob")
PATIENCE_SECONDS = 90.0
WIDTH = 110


class UnexpectedError(Exception):
    """The demo did not show what it exists to show."""


def main() -> None:
    """Run the demo; the exit status is 0 if all was as expected."""
    with end_on_signals(), open_cluster(os.environ) as cluster:
        say("A real control plane is up.")
        prepare(cluster.api)
        with OperatorProcess(cluster.kubeconfig) as operator:
            run(cluster, operator)


def run(cluster: Cluster, operator: OperatorProcess) -> None:
    """The three acts, and how to look around."""
    operator_says(operator)
    first_act(cluster.api)
    second_act(cluster.api)
    check_pods(cluster.api)
    look_around(cluster, operator)


def prepare(api: ApiServer) -> None:
    """Install the custom resources, and the cluster of examples/cluster.yaml."""
    install_crds(api, ROOT / "crds")
    objects = manifests(EXAMPLES / "cluster.yaml")
    for each in objects:
        apply(api, each)
    nodes = {each["metadata"]["name"] for each in objects if each["kind"] == "Node"}
    wait_until(
        lambda: nodes <= ready_nodes(api), timeout_seconds=PATIENCE_SECONDS, what="nodes are ready"
    )
    labels = [each["metadata"]["labels"] for each in objects if each["kind"] == "Node"]
    gpus = sum(int(each["nvidia.com/gpu.count"]) for each in labels)
    say(f"{len(nodes)} KWOK nodes offer {gpus} GPUs of four types, in two racks.")


def operator_says(operator: OperatorProcess) -> None:
    """Announce that the operator is running."""
    status, _ = operator.probe("/readyz")
    say(f"The operator runs (process {operator.pid}, /readyz says {status}).")


def first_act(api: ApiServer) -> None:
    """All jobs but the urgent one: they are placed, and one waits."""
    jobs = [
        job
        for path in sorted((EXAMPLES / "jobs").glob("*.yaml"))
        if path.name != URGENT
        for job in manifests(path)
    ]
    for job in jobs:
        apply(api, job)
    say(f"{len(jobs)} jobs are applied; together they ask for more than there is.")
    wait_until(
        partial(is_settled, api, len(jobs)),
        timeout_seconds=PATIENCE_SECONDS,
        what="every job runs or says why it waits",
    )
    show(api)
    waiting = [job for job in all_jobs(api) if "placement" not in job["status"]]
    if not waiting:
        raise UnexpectedError("no job waits, though they ask for more than there is")
    for job in waiting:
        say(f"{name_of(job)} waits: {job['status']['message']}")


def second_act(api: ApiServer) -> None:
    """The urgent one arrives last, and others yield."""
    before = {name_of(job): job["status"].get("placement") for job in all_jobs(api)}
    urgent = manifests(EXAMPLES / "jobs" / URGENT)
    for job in urgent:
        apply(api, job)
    names = {f"{job['kind']}/{job['metadata']['name']}" for job in urgent}
    say(f"Now comes {', '.join(names)}, of the highest priority.")
    wait_until(
        lambda: (
            all(runs(job) for job in all_jobs(api) if name_of(job) in names)
            and is_settled(api, len(before) + len(urgent))
        ),
        timeout_seconds=PATIENCE_SECONDS,
        what="the urgent job runs",
    )
    show(api)
    gave_way = [
        job
        for job in all_jobs(api)
        if before.get(name_of(job)) and job["status"].get("placement") != before[name_of(job)]
    ]
    if not gave_way:
        raise UnexpectedError("nobody gave way to the urgent job")
    for event in events(api, {"Preempted", "Resized", "Migrated", "InCohortReclamation"}):
        say(event)


def check_pods(api: ApiServer) -> None:
    """Every pod of a placed job is bound where the plan says, and no node is overcommitted."""
    pods = {pod["metadata"]["name"]: pod for pod in api.items("/api/v1/namespaces/default/pods")}
    planned = 0
    for job in all_jobs(api):
        for place in job["status"].get("placement", {}).get("assignments", []):
            nodes = place["nodes"]
            stem = f"{job['metadata']['name']}-{place['role']}-{place['replica']}"
            names = [stem] if len(nodes) == 1 else [f"{stem}-{i}" for i in range(len(nodes))]
            for name, node in zip(names, nodes, strict=True):
                planned += 1
                bound = pods.get(name, {}).get("spec", {}).get("nodeName")
                if bound != node:
                    raise UnexpectedError(f"pod {name} is on {bound}, the plan says {node}")
    if planned != len(pods):
        raise UnexpectedError(f"{len(pods)} pods are there, the plan has {planned}")
    say(f"All {planned} pods are bound by kube-scheduler where the plan says.")


def look_around(cluster: Cluster, operator: OperatorProcess) -> None:
    """Explain how to explore by hand; on a terminal, stay for it."""
    if not sys.stdin.isatty():
        return
    if not os.environ.get("PLIMSOLL_KUBECONFIG"):
        say(f'export PATH="$PATH:{find_programs(os.environ)}"', indent=2)
    say(f"export KUBECONFIG={cluster.kubeconfig}", indent=2)
    for command in (
        "kubectl get tj,ij,gp,pd,jq,pp",
        "kubectl describe tj pretrain-large",
        "kubectl get events --sort-by=.lastTimestamp",
        "kubectl get pods -o wide",
    ):
        say(command, indent=2)
    say(f"The operator's log: {operator.log}")
    say("It stays like this until you press Ctrl-C.")
    wait_until(lambda: not operator.is_running(), timeout_seconds=float("inf"), what="the end")


def manifests(path: Path) -> list[Manifest]:
    """The objects in a file."""
    return manifests_in(path.read_text())


def apply(api: ApiServer, manifest: Manifest) -> None:
    """As kubectl does with server-side apply; a node's status is a subresource."""
    collection = PLURALS[manifest["kind"]]
    if manifest["kind"] == "Node":
        api.create(collection, manifest)
    else:
        api.apply(f"{collection}/{manifest['metadata']['name']}", manifest)


def all_jobs(api: ApiServer) -> list[Manifest]:
    """All jobs with a status, by kind and name."""
    return [
        {"status": {}, **job, "kind": kind}
        for kind in JOB_KINDS
        for job in api.items(PLURALS[kind])
    ]


def name_of(job: Manifest) -> str:
    """Kind and name."""
    return f"{job['kind']}/{job['metadata']['name']}"


def runs(job: Manifest) -> bool:
    """Whether everything that the job wants is running."""
    return job["status"].get("reason") == "Running"


def is_settled(api: ApiServer, count: int) -> bool:
    """Whether this many jobs run or say why not, and none is in transition."""
    jobs = all_jobs(api)
    statuses = [job["status"] for job in jobs]
    waits = [each for each in statuses if each.get("message") and "placement" not in each]
    return len(jobs) == count and len(waits) + sum(map(runs, jobs)) == count


def events(api: ApiServer, reasons: set[str]) -> Iterable[str]:
    """The events about jobs with one of these reasons."""
    for event in api.items("/api/v1/namespaces/default/events"):
        about = event["involvedObject"]
        if event["reason"] in reasons and about["kind"] in JOB_KINDS:
            yield f"{about['kind']}/{about['name']} {event['reason']}: {event['message']}"


def show(api: ApiServer) -> None:
    """A table of all jobs."""
    rows = [("JOB", "QUEUE", "STATUS", "GPU", "WHERE")]
    for job in all_jobs(api):
        status = job["status"]
        places = status.get("placement", {}).get("assignments", [])
        rows.append(
            (
                name_of(job),
                job["spec"].get("queue", "default"),
                status.get("reason", ""),
                ", ".join(sorted({place["acceleratorType"] for place in places} - {""})),
                status.get("nodesSummary", "") if places else "",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say(line.rstrip(), indent=2)
    say("")


def say(text: str, *, indent: int = 0) -> None:
    """Print one thing at once: wrapped for a terminal, or verbatim if it is indented."""
    lines = [text] if indent else textwrap.wrap(text, WIDTH, subsequent_indent="    ") or [""]
    sys.stdout.writelines(f"{' ' * indent}{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    main()

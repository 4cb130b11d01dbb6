"""What is read of a service by the default queries of a real Prometheus."""

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.measured.sample import QueryResult
from plimsoll.signals.load.job_reading import JobReading, job_reading
from plimsoll.signals.load.load_reading import LoadResults
from plimsoll.signals.load.queries import default_queries
from plimsoll.signals.load.role_pods import RolePods
from plimsoll.signals.load.servers.terms import Scope
from plimsoll.signals.prometheus.connection import Connection, ConnectionTerms
from plimsoll.signals.prometheus.decoding import query_result
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.waiting import wait_until
from support.clusters.seen import NOW
from support.objects.load_results import WINDOW, pods_of_role

SCOPE = Scope(8)
DRAIN_SECONDS = 60


def until_scraped(prometheus: PrometheusServer, exporters: int) -> None:
    """Wait until all exporters have been scraped for longer than a look reaches back."""
    often = f"count_over_time(up[{SCOPE.window}]) >= {SCOPE.window_seconds}"
    query = f"count({often} and up offset {SCOPE.window}) or vector(0)"
    wait_until(
        lambda: int(prometheus.ask("query", query=query)["result"][0]["value"][1]) == exporters,
        timeout_seconds=60,
        what="all exporters are scraped",
    )


def reading_of(job: InferenceJob, prometheus: PrometheusServer, *, ready: int) -> JobReading:
    """The reading of a job each of whose roles has so many ready replicas."""
    connection = Connection(ConnectionTerms(prometheus.url))
    results = [query_result(connection.now(each), each) for each in default_queries(job, SCOPE)]
    assert all(isinstance(each, QueryResult) for each in results)
    pods = {
        role.name: pods_of_role(job, role.name, ready) if ready else RolePods()
        for role in job.spec.roles
    }
    return job_reading(LoadResults(job, results, (), pods, WINDOW, DRAIN_SECONDS, NOW))

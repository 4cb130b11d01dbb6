from plimsoll.control.cluster_watch import ClusterWatch
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.resources import NODE_CLAIMS
from plimsoll.kube.watching.following import WatchTerms
from plimsoll.kube.watching.listing import CORE, OTHERS
from plimsoll.observe.adoption.kinds.table import ADAPTERS
from support.programs.asynchronous import asynchronous


@asynchronous
async def test_programs_that_do_not_watch_list_all_that_is_watched() -> None:
    nowhere = Endpoint("http://localhost", None, lambda: None)
    async with KubeClient.to(nowhere) as client:
        watch = ClusterWatch(
            client,
            WatchTerms(),
            adopts_jobs=True,
            buys_nodes=False,
            requests_in=None,
            changed=lambda: None,
        )
    core = (resource for resource, _ in (*CORE, *OTHERS) if resource != NODE_CLAIMS)
    resources = [*core, *(each.resource for each in ADAPTERS)]
    listed = {f"watch of {resource.plural}" for resource in resources}
    assert {part.name for part in watch.parts()} == listed


@asynchronous
async def test_what_is_not_watched_is_not_reported_as_stale() -> None:
    nowhere = Endpoint("http://localhost", None, lambda: None)
    async with KubeClient.to(nowhere) as client:
        watch = ClusterWatch(
            client,
            WatchTerms(),
            adopts_jobs=False,
            buys_nodes=False,
            requests_in=None,
            changed=lambda: None,
        )
        buying = ClusterWatch(
            client,
            WatchTerms(),
            adopts_jobs=False,
            buys_nodes=True,
            requests_in="here",
            changed=lambda: None,
        )
    assert (watch.workloads(), watch.node_claims()) == ((), None)
    assert watch.provisioning_requests() is None
    names = {part.name for part in watch.parts()}
    assert not {"watch of jobs", "watch of nodeclaims", "watch of provisioningrequests"} & names
    bought = {"watch of nodeclaims", "watch of provisioningrequests"}
    assert bought <= {part.name for part in buying.parts()}

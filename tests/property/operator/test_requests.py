"""The effective request is what a pod uses at its peak, found by playing its life."""

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.kube.objects.objects import Container, PodSpec, ResourceRequirements
from plimsoll.observe.eligibility.requests import effective_requests

cpus = st.integers(0, 9)
containers = st.lists(cpus, max_size=4)
inits = st.lists(st.tuples(cpus, st.booleans()), max_size=5)


def a_container(cpu: int, *, sidecar: bool = False) -> Container:
    policy = "Always" if sidecar else ""
    return Container(resources=ResourceRequirements(requests={"cpu": cpu}), restart_policy=policy)


def use_over_time(main: Sequence[int], init: Sequence[tuple[int, bool]]) -> Iterator[int]:
    running = 0
    for cpu, is_sidecar in init:
        yield running + cpu
        running += cpu if is_sidecar else 0
    yield running + sum(main)


@given(containers, inits)
def test_the_request_is_the_peak_of_the_pods_life(
    main: list[int], init: list[tuple[int, bool]]
) -> None:
    spec = PodSpec(
        containers=tuple(a_container(cpu) for cpu in main),
        init_containers=tuple(a_container(cpu, sidecar=sidecar) for cpu, sidecar in init),
    )
    assert effective_requests(spec).cpu_millis == 1000 * max(use_over_time(main, init))

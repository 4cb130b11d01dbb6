"""The search for devices finds a way exactly where trying everything does."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll_placement.check.device_fit import devices_fit
from plimsoll_placement.model import Devices
from support.problems.builders import H100

Free = tuple[tuple[int, ...], ...]


def everything_tried(groups: Sequence[Devices], free: Free, asked: Sequence[int]) -> bool:
    if not asked:
        return True
    return any(
        everything_tried(groups, left, asked[1:]) for left in ways_to_serve(groups, free, asked[0])
    )


def ways_to_serve(groups: Sequence[Devices], free: Free, asked: int) -> Iterator[Free]:
    for place, (group, millis) in enumerate(zip(groups, free, strict=True)):
        granted = group.granted_milli(asked)
        if granted is None:
            continue
        devices, part = (granted // 1000, 1000) if granted >= 1000 else (1, granted)
        if granted >= 1000 and granted % 1000:
            continue
        for chosen in combinations(range(len(millis)), devices):
            if all(millis[index] >= part for index in chosen):
                left = tuple(m - part * (i in chosen) for i, m in enumerate(millis))
                yield (*free[:place], left, *free[place + 1 :])


device_groups = st.builds(
    Devices,
    st.just(H100),
    st.lists(st.sampled_from((1000, 1000, 900, 600, 500, 300, 0)), max_size=3).map(tuple),
    st.sampled_from((1, 1, 1000, 500, 250)),
)
pods = st.sampled_from((1000, 2000, 1500, 900, 600, 500, 450, 400, 350, 300, 250, 200, 100))


@settings(max_examples=5 * settings().max_examples)
@given(st.lists(device_groups, min_size=1, max_size=3), st.lists(pods, max_size=6))
def test_devices_fit_where_any_assignment_of_pods_to_devices_exists(
    groups: list[Devices], asked: list[int]
) -> None:
    free = tuple(group.free_milli for group in groups)
    assert devices_fit(groups, asked) == everything_tried(groups, free, asked)

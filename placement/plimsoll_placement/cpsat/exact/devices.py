"""The devices of one type on one node, which serve what stays there and what is newly placed.

Whole GPUs and equal shares are counted. If any fraction can be had, or a node has devices of
several shares, each pod is assigned to a device.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from plimsoll_placement.cpsat.exact.linear import covers, no_more_than, same
from plimsoll_placement.cpsat.exact.variables import Variables
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.model import WHOLE_GPU_MILLI, Devices

Requested = Mapping[int, Sum]
"""How many pods ask for each amount of milli-GPUs."""

MOST_PODS = 10_000


def devices_suffice(
    variables: Variables,
    job_classes: Sequence[Devices],
    requested: Requested,
    standing: Counter[int],
) -> None:
    """Require that what is requested can be served beside what stays.

    `standing` counts pods by milli-GPUs. If these are too many already, nothing is added.
    """
    if len(job_classes) == 1 and job_classes[0].share_milli != 1:
        _shares_suffice(variables, job_classes[0], requested, standing)
    else:
        _packing_exists(variables, job_classes, requested, standing)


def _shares_suffice(
    variables: Variables, devices: Devices, requested: Requested, standing: Counter[int]
) -> None:
    total, share = Sum(), devices.share_milli
    for milli, count in requested.items():
        granted = devices.granted_milli(milli)
        if granted is None:
            no_more_than(variables.model, count, 0)
        else:
            total.add(count.terms, granted // share)
    free = sum(milli // share for milli in devices.free_milli)
    for milli, pods in standing.items():
        granted = devices.granted_milli(milli)
        free -= free if granted is None else pods * (granted // share)
    no_more_than(variables.model, total, max(0, free))


def _packing_exists(
    variables: Variables,
    job_classes: Sequence[Devices],
    requested: Requested,
    standing: Counter[int],
) -> None:
    """What stays must be assigned to devices as well, but only if anything is added to it."""
    is_added_to = variables.yes_or_no()
    everything = Sum()
    for count in requested.values():
        everything.add(count.terms)
    covers(variables.model, Sum().add([(is_added_to, MOST_PODS)]), everything)
    served: dict[int, Sum] = {milli: Sum() for milli in sorted({*requested, *standing})}
    for devices in job_classes:
        serve = _by_device if devices.share_milli == 1 else _by_share
        for milli, part in serve(variables, devices, list(served)).items():
            served[milli].add(part.terms)
    for milli, part in served.items():
        wanted = Sum().add([(is_added_to, standing[milli])])
        same(variables.model, part, wanted.add(requested.get(milli, Sum()).terms))


def _by_share(variables: Variables, devices: Devices, millis: Sequence[int]) -> dict[int, Sum]:
    """How many pods of each kind these devices serve, each with as many shares as it takes."""
    share, total, parts = devices.share_milli, Sum(), dict[int, Sum]()
    free = sum(milli // share for milli in devices.free_milli)
    for milli in millis:
        granted = devices.granted_milli(milli)
        if granted:
            part = variables.up_to(free * share // granted)
            parts[milli] = Sum().add([(part, 1)])
            total.add([(part, granted // share)])
    no_more_than(variables.model, total, free)
    return parts


def _by_device(variables: Variables, devices: Devices, millis: Sequence[int]) -> dict[int, Sum]:
    """The same where a device is handed out in fractions of any size, or as a whole."""
    parts, wholes = {milli: Sum() for milli in millis}, Sum()
    fractions = [milli for milli in millis if 0 < milli < WHOLE_GPU_MILLI]
    for free in devices.free_milli:
        total = Sum()
        for milli in fractions:
            if milli <= free:
                count = variables.up_to(free // milli)
                parts[milli].add([(count, 1)])
                total.add([(count, milli)])
        if free >= WHOLE_GPU_MILLI:
            is_whole = variables.yes_or_no()
            wholes.add([(is_whole, 1)])
            total.add([(is_whole, free)])
        no_more_than(variables.model, total, free)
    needed = Sum()
    for milli in millis:
        if milli >= WHOLE_GPU_MILLI and milli % WHOLE_GPU_MILLI == 0:
            count = variables.up_to(len(devices.free_milli) * WHOLE_GPU_MILLI // milli)
            parts[milli].add([(count, 1)])
            needed.add([(count, milli // WHOLE_GPU_MILLI)])
    covers(variables.model, wholes, needed)
    return parts

"""Jobs drawn from a random source, waiting ones: what runs is drawn in `random_problems`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from plimsoll_placement.model import NO_GPUS, Devices, GpuType, Job, Queue, Role, RoleName
from support.problems.builders import GIB, a_mixable_role, a_role, a_training_job, an_inference_job
from support.problems.random_clusters import GPU_TYPES, Mix, chance

ASKED: Mapping[int, tuple[int, ...]] = {
    1000: (1000, 1000, 2000),
    1: (500, 250, 300, 1000),
    250: (250, 100),
    500: (500, 250),
}
"""What a role may ask for of devices by their share."""
DRAW_PERCENT = (100, 45, 130, 87)
"""What jobs draw by their index, of what is typical."""


def drawn_job(rng: Random, mix: Mix, index: int, nodes: int, queues: Sequence[Queue]) -> Job:
    """A training or inference job for a cluster of that many nodes."""
    drawn = _inference_job if chance(rng, 40) else _training_job
    job = drawn(rng, mix, f"job-{index}", nodes)
    return replace(
        _with_draw(job, DRAW_PERCENT[index % len(DRAW_PERCENT)]) if mix.power else job,
        queue=rng.choice(queues).name,
        priority=rng.choice((0, 0, 100, 1000)),
        sequence=rng.choice((index, 0)),
        urgency_milli=rng.choice((1000, 1000, 500, 3000)),
        spot_percent=rng.choice((100, 0, 50, 33)) if mix.spot else 0,
        required_level=rng.choice((None, None, 0, 1)) if mix.topology else None,
        preferred_level=rng.choice((None, 0, 1)) if mix.topology else None,
        crossing_percent=_crossing_percent(rng) if mix.topology else {},
        restart_seconds=rng.choice((600, 0, 5000)),
        checkpoint_seconds=rng.choice((300, 0)),
    )


def with_companions(rng: Random, mix: Mix, job: Job, nodes: int) -> Job:
    """The job, if it is a gang now and then with one or two more roles, with GPUs or without."""
    if not job.gang or not chance(rng, 60):
        return job
    names = ("launcher", "actor")[: rng.randint(1, 2)]
    roles = (_companion(rng, mix, job.roles[0], name, nodes) for name in names)
    return replace(job, roles=(*job.roles, *roles))


def _companion(rng: Random, mix: Mix, lead: Role, name: str, nodes: int) -> Role:
    aim = _aim(rng, mix)
    plain = _plain_role(rng, mix, aim, nodes)
    kinds = dict.fromkeys(_rates(rng, mix, aim))
    if chance(rng, 50):
        plain = replace(plain, shape=replace(plain.shape, gpu_milli=0, draw_milli=0))
        kinds = {NO_GPUS: None}
    counts = rng.choice((_same, _growing))(lead)
    return replace(
        plain,
        name=RoleName(name),
        counts=counts,
        yields={kind: (0,) * len(counts) for kind in kinds},
        spot_percent=rng.choice((100, 0, 50)) if mix.spot else 0,
        required_level=rng.choice((None, None, 0, 1)) if mix.topology else None,
    )


def _same(lead: Role) -> tuple[int, ...]:
    return tuple(1 for _ in lead.counts)


def _growing(lead: Role) -> tuple[int, ...]:
    return tuple((count + 1) // 2 for count in lead.counts)


def _with_draw(job: Job, percent: int) -> Job:
    """The job with roles that draw so much of what is typical."""
    return replace(job, roles=tuple(_role_with_draw(role, percent) for role in job.roles))


def _role_with_draw(role: Role, percent: int) -> Role:
    draw = role.shape.gpu_milli * percent // 100
    return replace(role, shape=replace(role.shape, draw_milli=draw))


def _crossing_percent(rng: Random) -> Mapping[GpuType, int]:
    """What is lost across domains on some types; on the others what the weights say."""
    return {kind: rng.choice((50, 0, 30, 75, 100)) for kind in GPU_TYPES if chance(rng, 40)}


def _training_job(rng: Random, mix: Mix, name: str, nodes: int) -> Job:
    aim = _aim(rng, mix)
    counts = rng.choice(((1,), (2,), (1, 2), (2, 4), (1, 2, 3, 4), (3,)))
    falling = sorted((rng.choice((100, 60, 90, 30)) for _ in counts), reverse=True)
    worker = _plain_role(rng, mix, aim, nodes)
    asked = worker.shape.gpu_milli * worker.pods_per_replica
    yields = {
        gpu_type: tuple(
            asked * count * percent * rate // 10_000
            for count, percent in zip(counts, falling, strict=True)
        )
        for gpu_type, rate in _rates(rng, mix, aim).items()
    }
    return a_training_job(name, worker=replace(worker, counts=counts, yields=yields))


def _inference_job(rng: Random, mix: Mix, name: str, nodes: int) -> Job:
    names = ("prefill", "decode")[: rng.randint(1, 2)]
    return an_inference_job(name, roles=tuple(_server(rng, mix, role, nodes) for role in names))


def _server(rng: Random, mix: Mix, name: str, nodes: int) -> Role:
    aim = _aim(rng, mix)
    plain = _plain_role(rng, mix, aim, nodes)
    asked = plain.shape.gpu_milli * plain.pods_per_replica
    role = a_mixable_role(
        name,
        counts=rng.choice(((1, 2, 3), (1,), (0, 1, 2), (2, 3, 4))),
        wanted_milli=rng.choice((2000, 1000, 500, 3333, 0)),
        carried={kind: asked * rate // 100 for kind, rate in _rates(rng, mix, aim).items()},
        role=plain,
    )
    fewest = role.counts[-1] if role.wanted_milli in (500, 3333) else 0
    return replace(role, wanted_count=fewest)


def _plain_role(rng: Random, mix: Mix, aim: Devices, nodes: int) -> Role:
    everywhere = (1 << nodes) - 1
    return a_role(
        gpu_milli=rng.choice((4000, 900))
        if chance(rng, 10)
        else rng.choice(ASKED[aim.share_milli]),
        cpu_millis=rng.choice((0, 1000, 5000)),
        memory_bytes=rng.choice((0, GIB, 16 * GIB)),
        eligible=rng.getrandbits(nodes) if mix.selectors and chance(rng, 50) else everywhere,
        pods_per_replica=2 if chance(rng, 15) else 1,
    )


def _aim(rng: Random, mix: Mix) -> Devices:
    """The devices that a role asks for; others may serve it as well."""
    return rng.choice([devices for group in mix.hardware for devices in group])


def _rates(rng: Random, mix: Mix, aim: Devices) -> Mapping[GpuType, int]:
    others = rng.sample(GPU_TYPES, rng.randint(0, 2)) if chance(rng, 40) else mix.gpu_types
    types = dict.fromkeys((aim.gpu_type, *others))
    return {gpu_type: rng.choice((100, 100, 70, 25, 12)) for gpu_type in types}

"""The program knows that replicas are whole, and leaves no gang split once it has dived."""

from collections.abc import Sequence

from plimsoll_placement.lp.diving import dived
from plimsoll_placement.lp.fluid import Fluid, relaxed_over_node_classes
from plimsoll_placement.model import Job
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    a_mixable_role,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    an_inference_job,
    some_nodes,
)

ADMITTED = 2
"""The level of what is newly admitted, where all jobs have one priority."""


def fluid_of(problem: Problem) -> Fluid:
    return Fluid.of(relaxed_over_node_classes(problem), 1.0)


def running(fluid: Fluid, values: Sequence[float]) -> dict[str, float]:
    """How many gangs of each class run, by the name of the first."""
    return {
        own.job_class.job.name: round(sum(values[way.count] for way in own.ways), 3)
        for own in fluid.shares
    }


def a_gang(name: str, nodes: int, *, gpus: int = 8) -> Job:
    """A gang that fills nodes; of each size there is one, so they are not alike."""
    return a_training_job(name, worker=a_role(counts=(nodes,), gpu_milli=1000 * gpus))


def test_a_gang_that_is_split_runs_whole_or_leaves_its_gpus_to_smaller_ones() -> None:
    jobs = (a_gang("five", 5), a_gang("four", 4), a_gang("two", 2), a_gang("one", 1))
    fluid = fluid_of(a_problem(some_nodes(7), jobs))
    values = fluid.best()
    assert values is not None
    whole = running(fluid, dived(fluid, values))
    assert set(whole.values()) <= {0.0, 1.0}
    sizes = {"five": 5, "four": 4, "two": 2, "one": 1}
    assert sum(sizes[name] * count for name, count in whole.items()) >= 6


def test_a_dive_leaves_the_program_as_it_was() -> None:
    fluid = fluid_of(a_problem(some_nodes(7), (a_gang("five", 5), a_gang("four", 4))))
    before = fluid.bound((0, 0, 0, 0))
    values = fluid.best()
    assert values is not None
    dived(fluid, values)
    assert fluid.bound((0, 0, 0, 0)) == before


def test_half_of_a_replica_serves_nothing() -> None:
    """Two services want one GPU and a half each of three: one gets two, the other is half short."""
    server = a_mixable_role(counts=(1, 2), wanted_milli=1500)
    jobs = [an_inference_job(name, roles=(server,)) for name in ("a", "b")]
    bound = fluid_of(a_problem([a_node(gpus=3)], jobs)).bound((0, 0, 0, 0))[ADMITTED]
    assert bound is not None
    assert 2500 <= bound <= 2510

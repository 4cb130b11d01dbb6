from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.beside import places_beside
from plimsoll_placement.model import Assignments, Job, Node
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    A100,
    H100,
    a_mixable_role,
    a_node,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
)


def one_more(name: str = "more") -> Job:
    """One replica that runs nowhere yet, and carries the same on both types."""
    role = a_mixable_role(counts=(0, 1), wanted_milli=1000, carried={H100: 1000, A100: 1000})
    return an_inference_job(name, roles=(role,))


def served_on(node: str) -> Job:
    """A service that wants one replica, which is on this node."""
    wants = a_mixable_role(wanted_milli=1000)
    return an_inference_job(roles=(wants,), running=on_server(node))


def on_server(node: str) -> Assignments:
    return gang_on(node, role="server")


def found(problem: Problem, *more: Job) -> dict[str, list[str]]:
    """The nodes of the places, which break no rule beside what runs."""
    whole = a_problem(problem.nodes, (*problem.jobs, *more), queues=problem.queues)
    places = places_beside(problem, [whole.job_by_name[job.name] for job in more])
    held = {job.name: job.running for job in problem.jobs if job.running and job.knows_its_roles}
    together = held | {name: (place,) for name, place in places.items()}
    assert not list(violations(whole, together))
    return {name: list(place.nodes) for name, place in places.items()}


def cluster(*gpus: int) -> tuple[Node, ...]:
    """Nodes n0, n1, … with so many GPUs."""
    return tuple(a_node(f"n{index}", gpus=count) for index, count in enumerate(gpus))


def running(*nodes: str) -> Job:
    return a_training_job(worker=a_role(counts=(len(nodes),)), running=gang_on(*nodes))


def test_it_goes_where_nothing_runs() -> None:
    problem = a_problem(cluster(1, 1), (running("n0"),))
    assert found(problem, one_more()) == {"more": ["n1"]}


def test_nothing_makes_way_for_it() -> None:
    problem = a_problem(cluster(1, 1), (running("n0", "n1"),))
    assert found(problem, one_more()) == {}


def test_each_takes_what_the_ones_before_have_left() -> None:
    problem = a_problem(cluster(1, 2), (running("n0"),))
    three = [one_more(name) for name in ("a", "b", "c")]
    assert found(problem, *three) == {"a": ["n1"], "b": ["n1"]}


def test_it_is_within_the_limit_of_its_queue() -> None:
    queue = a_queue(limit={H100: 1000})
    problem = a_problem(cluster(1, 1), (served_on("n0"),), queues=(queue,))
    assert found(problem, one_more()) == {}


def test_it_goes_on_the_type_that_costs_least_for_what_it_carries() -> None:
    dear = a_node("dear", gpus=1, microdollars_per_gpu_hour=4_000_000)
    cheap = a_node("cheap", gpus=1, gpu_type=A100, microdollars_per_gpu_hour=1_000_000)
    problem = a_problem((dear, cheap), ())
    assert found(problem, one_more()) == {"more": ["cheap"]}


def test_what_runs_in_a_role_that_is_gone_is_about_to_end() -> None:
    none = a_mixable_role(counts=(0, 1), wanted_milli=0)
    odd = an_inference_job(roles=(none,), running=gang_on("n0", role="gone"))
    problem = a_problem(cluster(1), (odd,))
    assert found(problem, one_more()) == {"more": ["n0"]}


def test_it_takes_no_gpu_of_a_type_for_which_a_job_waits() -> None:
    waits = a_training_job(worker=a_role(counts=(8,), rates={H100: 100}))
    other = a_node("other", gpus=1, gpu_type=A100)
    assert found(a_problem((*cluster(1), other), (waits,)), one_more()) == {"more": ["other"]}
    assert found(a_problem(cluster(1), (waits,)), one_more()) == {}


def test_it_takes_none_while_a_service_lacks_replicas() -> None:
    lacks = an_inference_job(roles=(a_mixable_role(wanted_milli=2000),), running=on_server("n0"))
    has_all = an_inference_job(roles=(a_mixable_role(wanted_milli=1000),), running=on_server("n0"))
    assert found(a_problem(cluster(1, 1), (lacks,)), one_more()) == {}
    assert found(a_problem(cluster(1, 1), (has_all,)), one_more()) == {"more": ["n1"]}

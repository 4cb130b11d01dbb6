"""Hypothesis strategies for what the solver decides on, small enough to shrink well."""

from dataclasses import replace
from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from plimsoll_placement.model import Job, Role
from plimsoll_placement.problem import Problem
from support.problems.broken_rules import drawn_broken_problem
from support.problems.other_resources import some_lost, with_other_resources
from support.problems.random_problems import drawn_problem, random_problem

sources = st.randoms(use_true_random=False)


def problems(*, most_nodes: int = 8, most_jobs: int = 8) -> SearchStrategy[Problem]:
    """Half drawn choice by choice, which shrinks well; half by a seed, which varies more.

    In half of both some gangs have several roles, and in a third pods ask for other resources.
    """
    nodes, jobs = st.integers(2, most_nodes), st.integers(0, most_jobs)
    companions = st.booleans()
    by_choice = st.builds(drawn_problem, sources, nodes=nodes, jobs=jobs, companions=companions)
    seeds = st.integers(0, 1_000_000)
    by_seed = st.builds(random_problem, seeds, nodes, jobs, companions=companions)
    plain = st.one_of(by_choice, by_seed)
    return st.one_of(plain, plain, st.builds(with_other_resources, plain, sources))


def broken_problems(*, most_nodes: int = 8, most_jobs: int = 12) -> SearchStrategy[Problem]:
    """Problems in which what runs breaks rules, half of them drawn as in `problems`."""
    nodes, jobs = st.integers(2, most_nodes), st.integers(1, most_jobs)
    rng = st.one_of(sources, st.builds(Random, st.integers(0, 1_000_000)))
    drawn = {"nodes": nodes, "jobs": jobs, "companions": st.booleans()}
    plain = st.builds(drawn_broken_problem, rng, **drawn)
    asking = st.builds(with_other_resources, plain, sources)
    return st.one_of(plain, plain, st.builds(some_lost, asking, sources))


def shuffled(problem: Problem, rng: Random) -> Problem:
    """The same problem with its nodes, jobs, queues and power domains in another order."""
    order = rng.sample(range(len(problem.nodes)), len(problem.nodes))
    jobs = tuple(_with_masks_moved(job, order) for job in problem.jobs)
    return replace(
        problem,
        nodes=tuple(problem.nodes[index] for index in order),
        jobs=tuple(rng.sample(jobs, len(jobs))),
        queues=tuple(rng.sample(problem.queues, len(problem.queues))),
        power_domains=tuple(rng.sample(problem.power_domains, len(problem.power_domains))),
    )


def _with_masks_moved(job: Job, order: list[int]) -> Job:
    return replace(job, roles=tuple(_with_mask_moved(role, order) for role in job.roles))


def _with_mask_moved(role: Role, order: list[int]) -> Role:
    moved = sum((role.eligible >> old & 1) << new for new, old in enumerate(order))
    return replace(role, eligible=moved)

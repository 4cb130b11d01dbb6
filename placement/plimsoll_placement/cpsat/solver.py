"""CP-SAT's settings for solving one level of a score after the other; each was measured."""

from ortools.sat.python.cp_model import CpSolver


def level_solver(deterministic_seconds: float) -> CpSolver:
    """A solver with one worker, for models of 200 to 30,000 variables.

    Every level is presolved anew, so most of presolve, and symmetries, cost more than they gain;
    the linear relaxation is what proves levels.
    """
    solver = CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = deterministic_seconds
    solver.parameters.linearization_level = 2
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.max_presolve_iterations = 1
    solver.parameters.find_big_linear_overlap = False
    solver.parameters.symmetry_level = 0
    solver.parameters.hint_conflict_limit = 1
    # The presolve of OR-Tools 9.15 loses solutions where it compares constraints for inclusion and
    # where it reasons by dominance; it then declared worse ones optimal.
    solver.parameters.presolve_inclusion_work_limit = 0
    solver.parameters.keep_all_feasible_solutions_in_presolve = True
    return solver

from plimsoll_placement.check import violations
from plimsoll_placement.lp.fluid import Fluid, relaxed_over_node_classes
from plimsoll_placement.lp.rounding import rounded
from support.problems.builders import a_mixable_role, a_node, a_problem, an_inference_job, gang_on


def test_what_stays_on_spot_goes_if_the_others_came_out_less() -> None:
    """Half of the one on spot and half of another are one on spot and none else, if rounded."""
    server = a_mixable_role("worker", counts=(1, 2), wanted_milli=2000)
    job = an_inference_job("j", roles=(server,), running=gang_on("n0", "n1"), spot_percent=50)
    problem = a_problem([a_node("n0", spot=True), a_node("n1", usable=False)], [job])
    fluid = Fluid.of(relaxed_over_node_classes(problem), 1.0)
    values = [0.5] * len(fluid.climber.nothing())
    assert violations(problem, rounded(fluid, values)) == ()

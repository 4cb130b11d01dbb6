from plimsoll_agent.report import LIMITS, PROBLEM, Reading, Report, report


def test_limits_stand_in_the_order_of_the_gpus_and_in_watts() -> None:
    assert report([Reading(300_000), Reading(650_500)]) == Report("300,651", None)


def test_a_gpu_that_does_not_answer_has_no_number() -> None:
    reported = report([Reading(300_000), Reading(None, "is lost", is_failure=True)])
    assert reported == Report("300,", "GPU 1: is lost")


def test_gpus_with_the_same_trouble_share_a_line() -> None:
    readings = [Reading(1000, "a"), Reading(1000, "b"), Reading(1000, "a"), Reading(1000)]
    assert report(readings).problem == "GPU 0, 2: a; GPU 1: b"


def test_what_is_of_all_gpus_stands_first() -> None:
    assert report([Reading(1000, "a")], "silence").problem == "silence; GPU 0: a"


def test_without_a_gpu_no_limits_are_reported() -> None:
    assert report([]) == Report(None, None)


def test_only_what_differs_is_written() -> None:
    reported = Report("300,300", None)
    assert not reported.differs_from({LIMITS: "300,300", "other": "annotation"})
    assert reported.differs_from({})
    assert reported.differs_from({LIMITS: "300,300", PROBLEM: "an old one"})
    assert reported.differs_from({LIMITS: "300,301"})

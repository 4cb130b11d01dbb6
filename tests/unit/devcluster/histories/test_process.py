"""What counts as a failure in the log of an operator that is killed again and again."""

import os
import subprocess
from multiprocessing import spawn

from plimsoll_devcluster.histories.process import failures_in, summarized

PLANNED = '{"event": "planned"}'
CAUGHT_BY_NOBODY = [
    "Exception in thread workers:",
    "Traceback (most recent call last):",
    '  File "a"',
    "EOFError: Ran out of input",
]


def test_hundreds_of_failures_are_summarized() -> None:
    assert summarized([]) == []
    assert summarized(["a", "b"]) == ["2 failures in the operator's log, the first: a"]


def test_what_nobody_caught_is_reported_with_all_its_lines() -> None:
    cut_off = CAUGHT_BY_NOBODY[1:3]
    found = failures_in([PLANNED, *CAUGHT_BY_NOBODY, PLANNED, *cut_off])
    assert found == ["\n".join(CAUGHT_BY_NOBODY), "\n".join([PLANNED, *cut_off])]


def test_a_process_whose_parent_was_killed_while_starting_it_is_no_failure() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    started = subprocess.run(
        spawn.get_command_line(pipe_handle=reader, tracker_fd=reader),
        pass_fds=[reader],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(reader)
    lines = started.stderr.splitlines()
    assert "Traceback (most recent call last):" in lines
    assert failures_in([PLANNED, *lines, PLANNED]) == []
    assert failures_in([PLANNED, *lines[:3], PLANNED, *lines[3:], PLANNED]) == []

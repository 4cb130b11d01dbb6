"""Become another program that the kernel kills when its parent dies.

`python die_with_parent.py PARENT_PID PROGRAM ARGUMENTS...`

A script of its own, run by a fresh interpreter before the program replaces it: doing this between
fork and exec is unsafe in a process with threads. On anything but Linux it only becomes the
program; there a killed parent leaves its children running.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the kernel was told
        sys.exit(1)


def main() -> None:
    """Read the command line, register with the kernel, become the program."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        _die_with(int(parent))
    os.execv(command[0], command)  # noqa: S606 - there is no shell, and none is wanted


if __name__ == "__main__":
    main()

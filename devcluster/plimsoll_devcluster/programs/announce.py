"""Messages to the user while something takes long."""

import sys


def announce(message: str) -> None:
    """Print to stderr: stdout belongs to results."""
    sys.stderr.write(f"plimsoll: {message}\n")
    sys.stderr.flush()

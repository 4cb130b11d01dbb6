"""What a user is told while something takes long."""

import sys


def tell(message: str) -> None:
    """Say something on stderr: stdout belongs to results."""
    sys.stderr.write(f"plimsoll: {message}\n")
    sys.stderr.flush()

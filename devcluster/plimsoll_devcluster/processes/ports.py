"""Ports of loopback that stay free until a program takes them, also between two of its lives."""

import secrets
import socket
from contextlib import suppress

PORTS = range(20_000, 30_000)  # Linux hands out ports from 32768 on to anyone who asks for any


class NoFreePortError(Exception):
    """Every port is taken."""


def free_port() -> int:
    """A port that the kernel does not hand out itself, so that it is still free after a restart."""
    for port in secrets.SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise NoFreePortError("no port is free")

"""How the operator is set up, by environment variables that start with PLIMSOLL_."""

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PREFIX = "PLIMSOLL_"


def _identity() -> str:
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


class Settings(BaseModel):
    """The operator's settings; field `x` is read from PLIMSOLL_X."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    namespace: str = "plimsoll-system"
    """The namespace of the operator's Lease."""
    lease_name: str = "plimsoll"
    """The Lease's name; operators that share one take turns."""
    identity: str = Field(default_factory=_identity)
    """Who this process is in the Lease; each needs its own."""
    host: str = "0.0.0.0"  # noqa: S104 - probes and metrics are asked for from outside the pod
    """The address that metrics and probes are served on."""
    port: int = Field(default=8080, ge=0, le=65535)
    """Their port; 0 takes any free one."""
    worker_port: int = Field(default=8081, ge=0, le=65535)
    """The port, on the same address, that workers report to; 0 takes any free one."""
    worker_url: str = ""
    """Where workers find it, such as http://plimsoll-workers:8081; empty: they are not told."""
    log_level: str = "INFO"
    """The least that is logged: DEBUG, INFO, WARNING or ERROR."""
    stale_seconds: float = Field(default=90, gt=0)
    """How long the view of the cluster may be unconfirmed before the operator is not ready."""
    relist_seconds: float = Field(default=300, gt=0)
    """How often the custom resources are listed in full, for what events have left out."""

    large_cluster: int = Field(default=3000, ge=0)
    """From so many nodes and jobs on, small changes are answered at once, the whole afterwards."""

    snapshot_dir: str = ""
    """The folder in which snapshots are written, with the plans made of them; empty: in none."""
    snapshots_kept: int = Field(default=20, ge=1)
    """How many of them are kept, the newest."""
    snapshot_seconds: float = Field(default=60, ge=0)
    """How many seconds there are between two at the least."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The settings; raises ValueError naming the variable that is wrong."""
        names = {name: PREFIX + name.upper() for name in cls.model_fields}
        given = {name: environment[var] for name, var in names.items() if var in environment}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            wrong = "; ".join(f"{names[str(e['loc'][0])]}: {e['msg']}" for e in error.errors())
            raise ValueError(wrong) from error

"""The agent's settings, from environment variables that start with PLIMSOLL_AGENT_."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PREFIX = "PLIMSOLL_AGENT_"
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _server_of_the_cluster() -> str:
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class Settings(BaseModel):
    """The agent's settings; field `x` is read from PLIMSOLL_AGENT_X."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    node_name: str = Field(min_length=1)
    """The Node that it runs on."""
    operator_namespace: str = "plimsoll-system"
    """The namespace of the operator's Lease."""
    operator_lease: str = "plimsoll"
    """The name of the operator's Lease."""
    operator_timeout_seconds: float = Field(default=60, ge=4)
    """How long the Lease may stand still before the default limits are restored."""
    resync_seconds: float = Field(default=30, gt=0)
    """How often the limits are read back without a cause."""
    host: str = "0.0.0.0"  # noqa: S104 - probes and metrics are fetched from outside the pod
    """The address that metrics and probes are served on."""
    port: int = Field(default=8080, ge=0, le=65535)
    """Their port; 0 takes any free one."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level that is logged."""
    api_server: str = Field(default_factory=_server_of_the_cluster)
    """Where the API server is, from the pod's environment."""
    token_file: Path = _ACCOUNT / "token"
    """The file with the token that authenticates; it is read for each request."""
    ca_file: Path = _ACCOUNT / "ca.crt"
    """The certificates that verify the API server's."""

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

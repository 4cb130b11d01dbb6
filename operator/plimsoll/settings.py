"""How the operator is set up, by environment variables that start with PLIMSOLL_."""

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

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
    watch_seconds: int = Field(default=18, ge=3, le=300)
    """How long a watch lasts; by a dead connection nothing is heard for a third and 6 s longer."""
    relist_seconds: float = Field(default=300, gt=0)
    """How often the custom resources are listed in full, for what events have left out."""
    target_seconds: float = Field(default=10, gt=0)
    """How often the workloads that inference jobs target are read anew."""

    writes_per_second: float = Field(default=0, ge=0)
    """How many writes a second the API server gets at most; 0: as many as it takes."""
    large_cluster: int = Field(default=3000, ge=0)
    """From so many nodes and jobs on, small changes are answered at once, the whole afterwards."""

    snapshot_dir: str = ""
    """The folder in which snapshots are written, with the plans made of them; empty: in none."""
    snapshots_kept: int = Field(default=20, ge=1)
    """How many of them are kept, the newest."""
    snapshot_seconds: float = Field(default=60, ge=0)
    """How many seconds there are between two at the least."""

    prometheus_url: str = ""
    """Where Prometheus is, such as http://prometheus.monitoring:9090; empty: none is asked."""
    prometheus_matchers: str = ""
    """What tells series of this cluster from others', such as cluster="a"; empty: all are its."""
    exporter_namespaces: str = "gpu-operator,nvidia-gpu-operator,kube-system,monitoring"
    """The namespaces of the exporters whose word on GPUs counts; empty: all, tenants' included."""
    exporter_jobs: str = ""
    """What their scrape jobs are called in Prometheus, such as dcgm-exporter; empty: anything."""
    prometheus_seconds: int = Field(default=30, ge=1, le=300)
    """How often Prometheus is asked."""
    prometheus_timeout_seconds: float = Field(default=10, gt=0)
    """How long an answer may take."""
    load_seconds: int = Field(default=30, ge=1, le=300)
    """How often Prometheus is asked for the load of services."""
    load_window_seconds: int = Field(default=120, ge=4, le=3600)
    """Over how long loads are averaged: four times as long as between two scrapes, or longer."""
    power_seconds: int = Field(default=5, ge=1, le=60)
    """How often Prometheus is asked for what GPUs draw, where there are power domains."""
    prometheus_token_file: str = ""
    """The file with the bearer token that Prometheus wants; it is read for each query."""
    prometheus_username_file: str = ""
    """The file with the user name, where Prometheus wants a user name and a password."""
    prometheus_password_file: str = Field(default="", validate_default=True)
    """The file with that user's password."""
    prometheus_ca_file: str = ""
    """The certificates that Prometheus's is checked by; empty: those that all trust."""
    prometheus_insecure: bool = False
    """Whether any certificate will do. Whoever is in between can then read the credentials."""

    @field_validator("prometheus_url")
    @classmethod
    def _leads_somewhere(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("must be an address such as http://prometheus.monitoring:9090")
        if parts.username is not None:
            raise ValueError("must hold no password: put it into a file")
        return url.rstrip("/")

    @field_validator("prometheus_password_file")
    @classmethod
    def _proves_one_thing(cls, password: str, info: ValidationInfo) -> str:
        if bool(password) != bool(info.data.get("prometheus_username_file")):
            raise ValueError("must be given together with PLIMSOLL_PROMETHEUS_USERNAME_FILE")
        if password and info.data.get("prometheus_token_file"):
            raise ValueError("must not be given beside PLIMSOLL_PROMETHEUS_TOKEN_FILE")
        return password

    @field_validator("prometheus_insecure")
    @classmethod
    def _checks_or_not(cls, insecure: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - as pydantic calls it
        if insecure and info.data.get("prometheus_ca_file"):
            raise ValueError("must not be set beside PLIMSOLL_PROMETHEUS_CA_FILE")
        return insecure

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

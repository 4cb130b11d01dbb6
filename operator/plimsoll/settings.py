"""The operator's settings, from environment variables that start with PLIMSOLL_."""

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Self, TypeVar
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
S = TypeVar("S", bound=BaseModel)


def _identity() -> str:
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


class Settings(BaseModel):
    """The operator's settings; field `x` is read from PLIMSOLL_X."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    namespace: str = "plimsoll-system"
    """The namespace of the operator's Lease."""
    lease_name: str = "plimsoll"
    """The Lease's name; of the operators that share it, one acts at a time."""
    identity: str = Field(default_factory=_identity)
    """This process's identity in the Lease; must be unique."""
    host: str = "0.0.0.0"  # noqa: S104 - probes and metrics are read from outside the pod
    """The address to serve metrics and probes on."""
    port: int = Field(default=8080, ge=0, le=65535)
    """The port for them; 0 takes any free one."""
    worker_port: int = Field(default=8081, ge=0, le=65535)
    """The port, on the same address, for workers' reports; 0 takes any free one."""
    worker_url: str = ""
    """The URL workers report to, such as http://plimsoll-workers:8081; empty: they get none."""
    log_level: str = "INFO"
    """The lowest level to log: DEBUG, INFO, WARNING or ERROR."""
    stale_seconds: float = Field(default=90, gt=0)
    """How long the view of the cluster may go unconfirmed before the operator is not ready."""
    watch_seconds: int = Field(default=18, ge=3, le=300)
    """How long a watch lasts; a dead connection is noticed after four thirds of that plus 6 s."""
    relist_seconds: float = Field(default=300, gt=0)
    """How often all custom resources are listed, to catch missed events."""
    target_seconds: float = Field(default=10, gt=0)
    """How often the workloads that inference jobs target are read."""

    adopts_jobs: bool = False
    """Whether workloads labelled plimsoll.dev/queue are planned; docs/guides/workloads.md."""

    buys_nodes: bool = False
    """Whether nodes are ordered for GPUPools with `provisioning`; docs/guides/nodes.md."""
    requests_nodes: bool = False
    """Whether that is done by ProvisioningRequests too, in the namespace of the Lease."""

    weighs_routes: bool = False
    """Whether HTTPRoutes that ask for it get weights; docs/guides/prometheus.md."""

    prices_file: str = ""
    """The price catalogue, what nodes cost by instance type; docs/guides/nodes.md. Empty: none."""

    writes_per_second: float = Field(default=0, ge=0)
    """Most writes per second to the API server; 0: no limit."""
    large_cluster: int = Field(default=3000, ge=0)
    """From this many nodes plus jobs on, small changes are planned first and the whole later."""

    ledger_lease: str = ""
    """The Lease, in the namespace of ours, that says how far the console's ledger goes; empty: none
    is kept."""

    snapshot_dir: str = ""
    """The folder for snapshots and the plans made from them; empty: none are written."""
    snapshots_kept: int = Field(default=20, ge=1)
    """How many of the latest snapshots to keep."""
    snapshot_seconds: float = Field(default=60, ge=0)
    """Shortest time between two snapshots."""

    prometheus_url: str = ""
    """Prometheus's URL, such as http://prometheus.monitoring:9090; empty: it is not used."""
    prometheus_matchers: str = ""
    """Label matchers for this cluster's series, such as cluster="a"; empty: all series."""
    exporter_namespaces: str = "gpu-operator,nvidia-gpu-operator,kube-system,monitoring"
    """Namespaces of trusted GPU exporters; empty: all, including those of tenants."""
    exporter_jobs: str = ""
    """Their scrape job names in Prometheus, such as dcgm-exporter; empty: any."""
    prometheus_seconds: int = Field(default=30, ge=1, le=300)
    """How often Prometheus is queried."""
    prometheus_timeout_seconds: float = Field(default=10, gt=0)
    """How long a response may take."""
    load_seconds: int = Field(default=30, ge=1, le=300)
    """How often Prometheus is queried for the load of services."""
    load_window_seconds: int = Field(default=120, ge=4, le=3600)
    """The period over which load is averaged: at least four scrape intervals."""
    power_seconds: int = Field(default=5, ge=1, le=60)
    """How often Prometheus is queried for GPU power, if there are power domains."""
    prometheus_token_file: str = ""
    """The file with Prometheus's bearer token, read for each query."""
    prometheus_username_file: str = ""
    """The file with the user name, if Prometheus uses basic authentication."""
    prometheus_password_file: str = Field(default="", validate_default=True)
    """The file with that user's password."""
    prometheus_ca_file: str = ""
    """The CA certificates for Prometheus; empty: the system's."""
    prometheus_insecure: bool = False
    """Whether to accept any certificate. An interceptor can then read the credentials."""

    @field_validator("prometheus_url")
    @classmethod
    def _leads_somewhere(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("must be a URL such as http://prometheus.monitoring:9090")
        if parts.username is not None:
            raise ValueError("must not contain a user or password: put them into files")
        return url.rstrip("/")

    @field_validator("prometheus_password_file")
    @classmethod
    def _proves_one_thing(cls, password: str, info: ValidationInfo) -> str:
        if bool(password) != bool(info.data.get("prometheus_username_file")):
            raise ValueError("must be set together with PLIMSOLL_PROMETHEUS_USERNAME_FILE")
        if password and info.data.get("prometheus_token_file"):
            raise ValueError("must not be set together with PLIMSOLL_PROMETHEUS_TOKEN_FILE")
        return password

    @field_validator("prometheus_insecure")
    @classmethod
    def _checks_or_not(cls, insecure: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - the signature is pydantic's
        if insecure and info.data.get("prometheus_ca_file"):
            raise ValueError("must not be set together with PLIMSOLL_PROMETHEUS_CA_FILE")
        return insecure

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The settings. Raises ValueError, which names the invalid variable."""
        return from_environment(cls, PREFIX, environment)


def from_environment(model: type[S], prefix: str, environment: Mapping[str, str]) -> S:
    """Settings of which field `x` is read from `prefix` and X.

    Raises ValueError, which names the invalid variable.
    """
    names = {name: prefix + name.upper() for name in model.model_fields}
    given = {name: environment[var] for name, var in names.items() if var in environment}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        wrong = "; ".join(f"{names[str(e['loc'][0])]}: {e['msg']}" for e in error.errors())
        raise ValueError(wrong) from error

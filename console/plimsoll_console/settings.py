"""The console's settings, from environment variables that start with PLIMSOLL_CONSOLE_."""

import os
from collections.abc import Mapping
from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from plimsoll.settings import from_environment
from plimsoll_console.ledger.database.connection import checked_url
from plimsoll_console.notifications.occurrences import Kind

PREFIX: Final = "PLIMSOLL_CONSOLE_"


class Settings(BaseModel):
    """The console's settings; field `x` is read from PLIMSOLL_CONSOLE_X."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    namespace: str = "plimsoll-system"
    """The namespace of the Lease that says how far the ledger goes."""
    host: str = "0.0.0.0"  # noqa: S104 - it is reached from outside the pod
    """The address to serve the page, the API, metrics and probes on."""
    port: int = Field(default=8090, ge=0, le=65535)
    """The port for them; 0 takes any free one."""
    tls_cert_file: str = ""
    """The certificate to serve with, and its chain; empty: plain HTTP."""
    tls_key_file: str = Field(default="", validate_default=True)
    """The certificate's private key."""
    log_level: str = "INFO"
    """The lowest level to log: DEBUG, INFO, WARNING or ERROR."""

    stale_seconds: float = Field(default=90, gt=0)
    """How long the view of the cluster may go unconfirmed before the console is not ready."""
    watch_seconds: int = Field(default=18, ge=3, le=300)
    """How long a watch lasts; a dead connection is noticed after four thirds of that plus 6 s."""
    relist_seconds: float = Field(default=300, gt=0)
    """How often all custom resources are listed, to catch missed events."""
    target_seconds: float = Field(default=10, gt=0)
    """How often the workloads that inference jobs target are read."""
    adopts_jobs: bool = False
    """Whether the operator plans workloads of others; docs/guides/workloads.md."""
    buys_nodes: bool = False
    """Whether the operator orders nodes by NodeClaims; docs/guides/nodes.md."""
    requests_in: str = ""
    """The namespace of its ProvisioningRequests; empty: it makes none."""

    audiences: str = ""
    """Audiences of which tokens must have one, by commas; empty: those of the API server."""
    rights_seconds: float = Field(default=5, gt=0, le=10)
    """How long it may take until a right that was withdrawn no longer counts."""
    most_viewers: int = Field(default=500, ge=1)
    """How many pages may follow changes at a time; a tenth of that, at least 10, for one user."""
    answers_at_once: int = Field(default=1, ge=1, le=16)
    """How many questions (explain, what if) are answered at a time, each by a process."""
    answer_seconds: float = Field(default=60, gt=0)
    """How long an answer may take."""
    history_hours: float = Field(default=6, gt=0, le=168)
    """How many hours of changes are remembered, in memory."""

    ledger_url: str = ""
    """The ledger's database: sqlite:////path/of/a/file or postgresql://…; empty: none is kept."""
    ledger_lease: str = ""
    """The Lease, in `namespace`, that says how far the ledger goes; empty: none does."""
    ledger_retention_days: int = Field(default=400, ge=1, le=36_500)
    """How many days of the ledger are kept."""
    ledger_write_seconds: float = Field(default=60, ge=1, le=60)
    """How often the ledger is written; it looks at the cluster at least as often."""
    ledger_grams_per_kwh: float | None = Field(default=None, ge=0, le=10_000)
    """Grams of carbon dioxide per kWh of electricity; none: reports leave it out."""
    ledger_currency: str = Field(default="USD", pattern="^[A-Z]{3}$")
    """The currency of the GPUPools' prices, by ISO 4217."""
    ledger_account: str = Field(default="plimsoll", min_length=1, max_length=253)
    """The billing account that FOCUS reports name, such as the cluster."""

    notifications_url: str = ""
    """The URL that events are posted to; empty: none are. It takes a ledger."""
    notifications_secret_file: str = ""
    """The file with the secret that they are signed with, `whsec_…`; empty: they are not."""
    notifications_types: str = ",".join(Kind)
    """Which events are posted, by commas."""
    notifications_source: str = Field(default="/plimsoll", min_length=1, max_length=253)
    """What events name as their source, such as the cluster."""

    @property
    def notification_kinds(self) -> frozenset[Kind]:
        """The kinds of event that are posted."""
        return frozenset(map(Kind, _listed(self.notifications_types)))

    @field_validator("notifications_url")
    @classmethod
    def _leads_to_a_receiver(cls, url: str, info: ValidationInfo) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("must be a URL such as https://hooks.example.com/plimsoll")
        if url and not info.data.get("ledger_url"):
            raise ValueError("must be set together with PLIMSOLL_CONSOLE_LEDGER_URL")
        return url

    @field_validator("notifications_types")
    @classmethod
    def _are_known(cls, types: str) -> str:
        if not _listed(types) or not set(_listed(types)) <= set(Kind):
            raise ValueError(f"must be some of {', '.join(Kind)}")
        return types

    @field_validator("ledger_url")
    @classmethod
    def _leads_to_a_database(cls, url: str) -> str:
        if url:
            checked_url(url)
        return url

    @field_validator("tls_key_file")
    @classmethod
    def _has_both(cls, key: str, info: ValidationInfo) -> str:
        if bool(key) != bool(info.data.get("tls_cert_file")):
            raise ValueError("must be set together with PLIMSOLL_CONSOLE_TLS_CERT_FILE")
        return key

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The settings. Raises ValueError, which names the invalid variable."""
        return from_environment(cls, PREFIX, environment)


def _listed(text: str) -> list[str]:
    """What a text lists by commas."""
    return [each.strip() for each in text.split(",") if each.strip()]

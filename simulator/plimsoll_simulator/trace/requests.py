"""How much load comes to services, from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.values.scalars import ResourceName
from plimsoll_simulator.trace.rows import Moment, Row, rows


class Requests(ApiModel):
    """A line of a file of requests."""

    at: Moment
    """From when on, until the next line about the service."""
    service: ResourceName
    """The InferenceJob's name."""
    namespace: ResourceName = "default"
    """Its namespace."""
    rate: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
    """How much comes, in the unit of the service's profiles, such as requests per second."""


def requests(file: Path) -> Sequence[Row[Requests]]:
    """The lines of a file. Raises BadInput."""
    return rows(file, Requests)

"""What happens to nodes: spot capacity that comes and goes, faults, from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from plimsoll.api.model import ApiModel
from plimsoll.api.values.scalars import ResourceName
from plimsoll_simulator.trace.rows import Moment, Row, rows


class NodeEvent(ApiModel):
    """A line of a file of node events."""

    at: Moment
    """When it happens."""
    node: ResourceName
    """The node's name."""
    event: Literal["Gone", "Back", "Notice"]
    """`Gone`: it is lost with what runs on it; `Back`: it is there again, empty; `Notice`: its
    cloud says that it will soon be gone."""


def node_events(file: Path) -> Sequence[Row[NodeEvent]]:
    """The events of a file. Raises BadInput."""
    return rows(file, NodeEvent)

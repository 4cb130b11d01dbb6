"""The price catalogue that an administrator writes: what nodes cost, by instance type and place."""

from pathlib import Path
from typing import Annotated, Final, Literal

import yaml
from pydantic import ConfigDict, Field, ValidationError

from plimsoll.api.model import ApiModel
from plimsoll.api.values.amounts import PositiveQuantity
from plimsoll.errors import UnusablePrices
from plimsoll.observe.measured.prices import NodePrice

MOST_BYTES: Final = 1 << 20
"""A ConfigMap cannot be larger."""
_REMEDIES: Final = {
    "extra_forbidden": "is unknown: correct its name, or remove it",
    "missing": "is missing: add it",
    "model_type": "must have fields: begin the file with `prices:` and a list",
}
_Name = Annotated[str, Field(min_length=1, max_length=128)]
_Place = Annotated[str, Field(max_length=128)]


class _Entry(ApiModel):
    model_config = ConfigDict(extra="forbid")

    instance_type: _Name
    capacity_type: Literal["OnDemand", "Spot", "Reserved"] = "OnDemand"
    zone: _Place = ""
    region: _Place = ""
    price_per_node_hour: PositiveQuantity


class _Catalogue(ApiModel):
    model_config = ConfigDict(extra="forbid")

    prices: Annotated[tuple[_Entry, ...], Field(max_length=10_000)]


def catalogue_in(file: Path) -> tuple[NodePrice, ...]:
    """The prices in a file. Raises UnusablePrices, which names the field and the remedy."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnusablePrices(f"{file}: cannot be read: {error.strerror}") from error
    if len(text) > MOST_BYTES:
        raise UnusablePrices(f"{file}: is larger than {MOST_BYTES} bytes: keep what pools name")
    return _prices(text, str(file))


def _prices(text: bytes, origin: str) -> tuple[NodePrice, ...]:
    try:
        found = _Catalogue.model_validate(yaml.load(text, yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise UnusablePrices(f"{origin}: is not YAML: {error}") from error
    except ValidationError as error:
        first, number = error.errors(include_url=False)[0], error.error_count()
        more = f"; and {number - 1} more" if number > 1 else ""
        place = ".".join(map(str, first["loc"])) or "the file"
        said = _REMEDIES.get(first["type"], first["msg"])
        raise UnusablePrices(f"{origin}: {place}: {said}{more}") from error
    return tuple(_price(each) for each in found.prices)


def _price(entry: _Entry) -> NodePrice:
    price = entry.price_per_node_hour
    where = {"zone": entry.zone, "region": entry.region}
    return NodePrice(entry.instance_type, entry.capacity_type, price, **where, stated=True)

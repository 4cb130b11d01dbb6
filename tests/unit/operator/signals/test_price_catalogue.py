"""The price catalogue is read, and one that cannot be costs nothing but itself."""

from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY

from plimsoll.errors import UnusablePrices
from plimsoll.observe.measured.prices import NodePrice
from plimsoll.signals.catalogue_watch import CatalogueWatch
from plimsoll.signals.price_catalogue import catalogue_in
from support.programs.asynchronous import asynchronous
from support.project.pages import ROOT

TYPE = "p5.48xlarge"
ENTRY = f'- {{instanceType: {TYPE}, zone: us-east-1a, pricePerNodeHour: "55.04"}}'
SPOT = f"- {{instanceType: {TYPE}, capacityType: Spot, region: us-east-1, pricePerNodeHour: 20}}"


def a_file(folder: Path, text: str) -> Path:
    file = folder / "prices.yaml"
    file.write_text(text)
    return file


def test_prices_are_by_instance_type_capacity_type_and_place(tmp_path: Path) -> None:
    assert catalogue_in(a_file(tmp_path, f"prices:\n{ENTRY}\n{SPOT}\n")) == (
        NodePrice(TYPE, "OnDemand", Decimal("55.04"), zone="us-east-1a", stated=True),
        NodePrice(TYPE, "Spot", Decimal(20), region="us-east-1", stated=True),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file: must have fields: begin the file with `prices:` and a list"),
        ("prices: [", "is not YAML"),
        ("prices: [{instanceType: a}]", "prices.0.pricePerNodeHour: is missing: add it"),
        (
            "prices: [{instanceType: a, pricePerNodeHour: 1, price: 1}]",
            "prices.0.price: is unknown: correct its name, or remove it",
        ),
        ("prices: [{instanceType: a, pricePerNodeHour: 0}]", "prices.0.pricePerNodeHour: "),
        ("prices: [{instanceType: a, pricePerNodeHour: -1}]", "prices.0.pricePerNodeHour: "),
        ("prices: [{instanceType: a, pricePerNodeHour: .nan}]", "prices.0.pricePerNodeHour: "),
        (
            "prices: [{instanceType: a, capacityType: spot, pricePerNodeHour: 1}, {}]",
            "prices.0.capacityType: Input should be 'OnDemand', 'Spot' or 'Reserved'; and 2 more",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_field(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(UnusablePrices, match=r"prices\.yaml: ") as said:
        catalogue_in(a_file(tmp_path, text))
    assert problem in str(said.value)


def test_a_file_that_is_not_there_or_too_large_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnusablePrices, match="cannot be read: No such file"):
        catalogue_in(tmp_path / "none.yaml")
    with pytest.raises(UnusablePrices, match="is larger than"):
        catalogue_in(a_file(tmp_path, "#" * (2 << 20)))


@asynchronous
async def test_the_last_that_could_be_read_stays_in_force(tmp_path: Path) -> None:
    changes: list[None] = []
    file = tmp_path / "prices.yaml"
    watch = CatalogueWatch(file, lambda: changes.append(None))
    await watch.look()
    assert (watch.current(), unread(), changes) == (None, 1, [])
    a_file(tmp_path, f"prices:\n{ENTRY}\n")
    await watch.look()
    found = watch.current()
    assert found is not None
    assert (len(found), unread(), len(changes)) == (1, 0, 1)
    a_file(tmp_path, "prices: nonsense")
    await watch.look()
    assert (watch.current(), unread(), len(changes)) == (found, 1, 1)
    a_file(tmp_path, f"prices:\n{ENTRY}\n{SPOT}\n")
    await watch.look()
    assert len(watch.current() or ()) == 2
    assert (unread(), len(changes)) == (0, 2)


def unread() -> float | None:
    return REGISTRY.get_sample_value("plimsoll_unread_objects", {"resource": "prices"})


def test_the_example_can_be_read(tmp_path: Path) -> None:
    manifest = yaml.safe_load((ROOT / "examples/provisioning/node-prices.yaml").read_text())
    found = catalogue_in(a_file(tmp_path, manifest["data"]["prices.yaml"]))
    assert {each.instance_type for each in found} >= {TYPE, "Standard_ND96isr_H100_v5"}

"""Reports of a ledger in SQLite and PostgreSQL: as rows, as text, as FOCUS and as OpenCost."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.ledger.database.connection import connected
from plimsoll_console.reports import focus, opencost
from plimsoll_console.reports.query import Fields, Query, Sight
from plimsoll_console.reports.spreadsheet import as_csv
from plimsoll_console.reports.usage import NODE_TIME, Report, as_json, usage
from support.ledger.billed import NOW, A, B, a_ledger
from support.ledger.databases import KINDS, empty_database

HOURS = 60
ALL = Sight()
ONE = Sight(frozenset({A}), nodes=False)


@pytest.fixture(scope="module", params=KINDS)
def ledger(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """One for all tests, which only read it."""
    engine = connected(empty_database(request, tmp_path_factory.mktemp("ledger")))
    a_ledger(engine, HOURS)
    yield engine
    engine.dispose()


def report(ledger: Engine, since: str, by: str, sight: Sight = ALL, until: str = "now") -> Report:
    return usage(ledger, Query.parsed(Fields(since, until, by), NOW, sight))


def hours(found: Report, *uses: Use) -> dict[tuple[str, ...], float]:
    return {row.keys: float(row.amounts.of(*uses).gpu_hours) for row in found.rows}


def test_usage_by_queue_and_type(ledger: Engine) -> None:
    found = report(ledger, "60h", "queue,type")
    assert hours(found, Use.USEFUL) == {
        ("", "H100"): 0,
        ("research", "H100"): 2 * HOURS,
        ("sales", "H100"): 4 * HOURS,
    }
    assert hours(found, Use.IDLE)["", "H100"] == 2 * HOURS


def test_dollars_are_those_of_the_pools_and_idle_time_costs_too(ledger: Engine) -> None:
    found = report(ledger, "60h", "queue")
    dollars = {row.keys[0]: float(row.amounts.of(*NODE_TIME).dollars) for row in found.rows}
    assert dollars == {"": 2 * HOURS * 2.5, "research": 2 * HOURS * 2.5, "sales": 4 * HOURS}


@pytest.mark.parametrize("since", ["1h", "7h", "24h", "31h", "47h", "60h", "30d"])
@pytest.mark.parametrize("by", ["queue", "day", "hour", "month", "job", "day,job"])
def test_all_ways_to_sum_a_time_give_the_same(ledger: Engine, since: str, by: str) -> None:
    """Whole days are read from other rows than parts of days."""
    found = report(ledger, since, by)
    expected = {"1h": 1, "7h": 7, "24h": 24, "31h": 31, "47h": 47}.get(since, HOURS)
    assert sum(hours(found, *NODE_TIME).values()) == pytest.approx(8 * expected)


@pytest.mark.parametrize(("since", "until"), [("50h", "3h"), ("10h", "9h"), ("30h", "6h")])
def test_a_report_ends_where_it_is_told(ledger: Engine, since: str, until: str) -> None:
    found = report(ledger, since, "queue", until=until)
    expected = int(since[:-1]) - int(until[:-1])
    assert sum(hours(found, *NODE_TIME).values()) == 8 * expected


@pytest.mark.parametrize("by", ["queue", "day,job", "month"])
def test_one_namespace_is_what_all_say_of_it(ledger: Engine, by: str) -> None:
    asked = Fields("60h", by=f"{by},namespace", namespace=A)
    of_all = report(ledger, "60h", f"{by},namespace")
    for sight in (ALL, ONE):
        found = usage(ledger, Query.parsed(asked, NOW, sight))
        assert hours(found, *NODE_TIME) == {
            keys: used for keys, used in hours(of_all, *NODE_TIME).items() if keys[-1] == A
        }


def test_a_namespace_that_may_not_be_seen_has_nothing_not_even_a_remainder(ledger: Engine) -> None:
    asked = Fields("60h", by="queue", namespace=B)
    assert usage(ledger, Query.parsed(asked, NOW, ONE)).rows == ()


def test_others_are_one_remainder_without_names(ledger: Engine) -> None:
    found = report(ledger, "60h", "queue,namespace,user,job,pool", ONE)
    *own, others = found.rows
    assert [row.keys[:2] for row in own] == [("research", A)]
    assert others.is_remainder
    assert others.keys == ("",) * 5
    assert float(others.amounts.of(*NODE_TIME).gpu_hours) == 6 * HOURS
    for text in (json.dumps(as_json(found)), as_csv(found)):
        assert "sales" not in text
        assert B not in text
        assert "spot" not in text


def test_a_reader_without_rights_sees_a_remainder_only(ledger: Engine) -> None:
    found = report(ledger, "60h", "namespace", Sight(frozenset(), nodes=False))
    assert [row.is_remainder for row in found.rows] == [True]


def test_json_tells_carbon_only_where_its_rate_is_set(ledger: Engine) -> None:
    found = report(ledger, "60h", "queue")
    rows = {row["keys"]["queue"]: row for row in as_json(found, 400)["rows"]}
    assert rows["research"]["kWh"] == pytest.approx(2 * HOURS * 0.56)
    assert rows["research"]["gramsCO2"] == pytest.approx(2 * HOURS * 0.56 * 400)
    assert as_json(found)["rows"][0]["gramsCO2"] is None


def test_a_report_tells_until_when_it_knows(ledger: Engine) -> None:
    assert report(ledger, "60h", "queue").accounted_until == NOW


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_line_for_each_row(ledger: Engine) -> None:
    found = lines(as_csv(report(ledger, "60h", "queue"), 400))
    assert [line["queue"] for line in found] == ["", "research", "sales"]
    assert float(found[1]["useful_gpu_hours"]) == 2 * HOURS
    assert float(found[0]["idle_gpu_hours"]) == 2 * HOURS


FOCUS_BY = ",".join(each.value for each in focus.BY)
NOT_NULL = """
BilledCost BillingAccountId BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory
ChargeDescription ChargePeriodEnd ChargePeriodStart ConsumedQuantity ConsumedUnit ContractedCost
EffectiveCost InvoiceIssuerName ListCost PricingQuantity PricingUnit ProviderName PublisherName
ServiceCategory ServiceName
"""
"""Columns that FOCUS 1.0 wants of each charge for usage."""


def test_focus_sums_to_the_same_cost_and_names_what_the_specification_wants(
    ledger: Engine,
) -> None:
    found = report(ledger, "60h", FOCUS_BY)
    told = lines(focus.as_focus_csv(found, focus.Billing(currency="EUR")))
    assert sum(float(line["BilledCost"]) for line in told) == pytest.approx(HOURS * (5 + 5 + 4))
    for line in told:
        assert all(line[name] for name in NOT_NULL.split())
        quantity, price = float(line["PricingQuantity"]), float(line["ListUnitPrice"])
        assert quantity * price == pytest.approx(float(line["ListCost"]), rel=1e-4)
        assert line["BillingPeriodStart"] <= line["ChargePeriodStart"] < line["ChargePeriodEnd"]
        assert line["ChargePeriodEnd"] <= line["BillingPeriodEnd"]
    assert {line["SubAccountId"] for line in told} == {"", A, B}
    assert {line["PricingCategory"] for line in told} == {"Standard", "Dynamic"}


def test_focus_hides_others(ledger: Engine) -> None:
    told = focus.as_focus_csv(report(ledger, "60h", FOCUS_BY, ONE), focus.Billing())
    assert "sales" not in told
    assert B not in told
    assert sum(float(line["BilledCost"]) for line in lines(told)) == pytest.approx(HOURS * 14)


def allocations(
    ledger: Engine, fields: opencost.Fields, sight: Sight = ALL
) -> list[dict[str, Any]]:
    reports = [usage(ledger, each) for each in opencost.queries(fields, NOW, sight)]
    return opencost.as_allocations(reports, include_idle=fields.include_idle)["data"]


def test_allocations_are_those_that_opencost_would_tell(ledger: Engine) -> None:
    (found,) = allocations(ledger, opencost.Fields("24h", include_idle=True))
    assert set(found) == {A, B, "__idle__"}
    own = found[A]
    assert own["properties"] == {"namespace": A}
    assert (own["gpuHours"], own["gpuCost"], own["totalCost"]) == (48, 120, 120)
    assert (own["gpuCount"], own["minutes"]) == (2, 24 * 60)
    assert found["__idle__"]["totalCost"] == 120


def test_allocations_hide_others_and_name_controllers(ledger: Engine) -> None:
    fields = opencost.Fields("48h", aggregate="controller", step="1d")
    for each in allocations(ledger, fields, ONE):
        assert set(each) == {f"TrainingJob/{A}/a", "__others__"}
        assert each[f"TrainingJob/{A}/a"]["properties"] == {
            "controllerKind": "TrainingJob",
            "controller": "a",
            "namespace": A,
        }
        assert each["__others__"]["properties"] == {}

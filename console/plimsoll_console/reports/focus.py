"""A usage report in the columns of FOCUS 1.0, the FinOps Open Cost and Usage Specification.

Each row is a day's use of one kind by one owner, or one job. Columns that begin with `x_` are ours,
as the specification provides. Prices are those of the pools: there are no discounts, so all four
costs are the same. Time that jobs waited is no charge and left out.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from plimsoll.kube.objects.times import rfc3339
from plimsoll.vocabulary.dimensions import Dimension
from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.reports.spreadsheet import REMAINDER, written
from plimsoll_console.reports.times import UnusableQuery
from plimsoll_console.reports.usage import NODE_TIME, Amount, Report, Row

BY: Final = (
    Dimension.DAY,
    Dimension.NAMESPACE,
    Dimension.QUEUE,
    Dimension.USER,
    Dimension.TYPE,
    Dimension.POOL,
    Dimension.OPTION,
)
"""What a FOCUS report must be made by; jobs may come on top."""
_UNIT: Final = "GPU-Hours"
_NAME: Final = "Plimsoll"
_MONTHS: Final = 12
Cell = str | float | Decimal | None
Line = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Billing:
    """Who bills, in which currency, and how much carbon dioxide a kWh causes, if that is known."""

    account: str = "plimsoll"
    currency: str = "USD"
    grams_per_kwh: float | None = None


def focus_lines(report: Report, billing: Billing) -> list[Line]:
    """The rows by column. Raises UnusableQuery if the report was made by less than `BY`."""
    missing = [each.value for each in BY if each not in report.query.by]
    if missing:
        raise UnusableQuery(f"by: FOCUS also needs {', '.join(missing)}: add them")
    return [line for row in report.rows for line in _lines(report, row, billing)]


def as_focus_csv(report: Report, billing: Billing) -> str:
    """The same as comma-separated values."""
    lines = focus_lines(report, billing)
    return written([_COLUMNS, *([line[name] for name in _COLUMNS] for line in lines)])


def _lines(report: Report, row: Row, billing: Billing) -> Iterable[Line]:
    keys = dict(zip(report.query.by, row.keys, strict=True))
    for use in NODE_TIME:
        amount = row.amounts.of(use)
        if amount.milli_ms:
            start, end = _period(report, keys[Dimension.DAY])
            yield {
                **_costs(amount, billing),
                **_periods(start, end),
                **_resource(keys, use, is_remainder=row.is_remainder),
                **_own(keys, use, amount, billing),
            }


def _costs(amount: Amount, billing: Billing) -> Line:
    """What it cost: without discounts, the four costs and both prices are the same."""
    cost, hours = amount.dollars, amount.gpu_hours
    price = round(cost / hours, 6) if hours else Decimal(0)
    return {
        "BilledCost": cost,
        "BillingAccountId": billing.account,
        "BillingAccountName": billing.account,
        "BillingCurrency": billing.currency,
        "ConsumedQuantity": hours,
        "ConsumedUnit": _UNIT,
        "ContractedCost": cost,
        "ContractedUnitPrice": price,
        "EffectiveCost": cost,
        "ListCost": cost,
        "ListUnitPrice": price,
        "PricingQuantity": hours,
        "PricingUnit": _UNIT,
    }


def _periods(start: datetime, end: datetime) -> Line:
    month = start.replace(day=1, hour=0)
    years, months = divmod(month.month, _MONTHS)
    following = month.replace(year=month.year + years, month=months + 1)
    return {
        "BillingPeriodStart": rfc3339(month),
        "BillingPeriodEnd": rfc3339(following),
        "ChargePeriodStart": rfc3339(start),
        "ChargePeriodEnd": rfc3339(end),
    }


def _resource(keys: Mapping[Dimension, str], use: Use, *, is_remainder: bool) -> Line:
    job, namespace = keys.get(Dimension.JOB) or None, keys[Dimension.NAMESPACE] or None
    gpu_type = keys[Dimension.TYPE] or None
    if is_remainder:
        namespace = REMAINDER
    tags = {"queue": keys[Dimension.QUEUE], "user": keys[Dimension.USER]}
    return {
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "ChargeDescription": f"{use.word} time of {gpu_type or 'GPUs'}",
        "ChargeFrequency": "Usage-Based",
        "InvoiceIssuerName": _NAME,
        "PricingCategory": "Dynamic" if keys[Dimension.OPTION] == "Spot" else "Standard",
        "ProviderName": _NAME,
        "PublisherName": _NAME,
        "RegionId": None,
        "RegionName": None,
        "ResourceId": job,
        "ResourceName": job,
        "ResourceType": job and job.partition("/")[0],
        "ServiceCategory": "AI and Machine Learning",
        "ServiceName": "GPU time",
        "SkuId": gpu_type,
        "SkuPriceId": gpu_type and f"{gpu_type}/{keys[Dimension.POOL]}/{keys[Dimension.OPTION]}",
        "SubAccountId": namespace,
        "SubAccountName": namespace,
        "Tags": json.dumps({name: value for name, value in tags.items() if value}),
    }


def _own(keys: Mapping[Dimension, str], use: Use, amount: Amount, billing: Billing) -> Line:
    return {
        "x_Use": use.word,
        "x_Queue": keys[Dimension.QUEUE] or None,
        "x_User": keys[Dimension.USER] or None,
        "x_GpuType": keys[Dimension.TYPE] or None,
        "x_Pool": keys[Dimension.POOL] or None,
        "x_PurchaseOption": keys[Dimension.OPTION] or None,
        "x_EnergyKilowattHours": amount.kwh,
        "x_CarbonGrams": amount.grams(billing.grams_per_kwh),
    }


def _period(report: Report, day: str) -> tuple[datetime, datetime]:
    """A day, as far as the report reaches."""
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    query = report.query
    return max(start, query.since), min(start + timedelta(days=1), query.until)


_COLUMNS: Final = sorted(
    name
    for line in (
        _costs(Amount(), Billing()),
        _periods(datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)),
        _resource(dict.fromkeys(BY, ""), Use.IDLE, is_remainder=False),
        _own(dict.fromkeys(BY, ""), Use.IDLE, Amount(), Billing()),
    )
    for name in line
)

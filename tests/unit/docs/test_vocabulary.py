import re

from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric

from plimsoll.observe.measured.xid import HARDWARE_XIDS
from plimsoll.settings import PREFIX, Settings
from plimsoll.vocabulary import metrics as operator_metrics
from plimsoll.vocabulary.reasons import Reason
from plimsoll_console import settings as console
from plimsoll_console.ledger import metrics as ledger_metrics
from plimsoll_console.notifications import metrics as notification_metrics
from support.project.pages import ROOT, rows

DOCS = ROOT / "docs"
REASONS = DOCS / "reference" / "reasons.md"
NOTHING_TO_DO = """
Admitted Adopted AlreadyRuns AmbiguousSelector BackoffLimitExceeded BatchChanged BudgetRestored
CannotStart CapRefused CapsApplied CapsPending Completed Cordoned DeadlineAtRisk DeadlineKept
DeadlineMissed Deleting Draining Evicted Failed InCohortReclamation InsufficientResources
InterruptionNotice InvalidSpec Leading LedgerBehind LedgerUnknown LedgerWritten LoadMeasured
LoadUnknown LowerPriority ManagedElsewhere MetricsAwaited Migrated NodeArrived NodeEmptied
NodeGivenBack NodeLeft NodeOrdered NotLeader NotReady Pending PlanDropped Planned PowerCapped
PowerMeasured PowerOvershoot PowerReleased PowerUnknown Preempted PriorityClassNotFound Quarantined
QueueNotFound RebalanceRecommended Released Reserved Resized Running Saving ScaledToZero
ShapeChanged SignalMeasured SignalUnknown SpotShare Stale Starting SucceededGetScale Suspended
TargetContested Unhealthy WithinBudget
"""
"""Reasons that need nothing of an administrator but what an alert says."""


def reasons_not_said_yet() -> list[str]:
    _, _, rest = REASONS.read_text().partition("## Not said yet")
    return re.findall(r"`(\w+)`", rest)


def test_each_reason_is_explained_once() -> None:
    explained = [word for word, _ in rows(REASONS)] + reasons_not_said_yet()
    assert sorted(explained) == sorted(Reason)


def test_the_runbook_has_a_word_on_each_reason_that_needs_one() -> None:
    page = (DOCS / "guides" / "runbook.md").read_text()
    _, _, section = page.partition("\n## Reasons\n")
    remedied = " ".join(re.findall(r"^- ((?:`\w+`(?:, )?)+): ", section, re.MULTILINE))
    said = re.findall(r"`(\w+)`", remedied)
    assert sorted([*said, *NOTHING_TO_DO.split()]) == sorted(Reason)


def metrics() -> list[MetricWrapperBase]:
    modules = (operator_metrics, ledger_metrics, notification_metrics)
    known = [each for module in modules for each in vars(module).values()]
    return [each for each in known if isinstance(each, MetricWrapperBase)]


def family(metric: MetricWrapperBase) -> Metric:
    return next(iter(metric.describe()))


def labels(metric: MetricWrapperBase) -> tuple[str, ...]:
    # The library has no public way to ask a metric for these.
    return vars(metric)["_labelnames"]


def described(metric: MetricWrapperBase) -> tuple[str, str, list[str]]:
    what = family(metric)
    name = f"{what.name}_total" if what.type == "counter" else what.name
    return name, what.type, [f"`{label}`" for label in labels(metric)]


def test_each_metric_is_described_with_its_type_and_labels() -> None:
    documented = [
        (name, kind, [label.strip() for label in named.split(",") if label])
        for name, (kind, named, _) in rows(DOCS / "reference" / "metrics.md")
    ]
    assert sorted(documented) == sorted(described(metric) for metric in metrics())


def test_all_our_metrics_are_in_the_vocabulary() -> None:
    served = {f.name for f in REGISTRY.collect() if f.name.startswith("plimsoll_")}
    assert served <= {family(metric).name for metric in metrics()}


def test_each_setting_is_listed_with_its_default() -> None:
    listed = {name: cells[0].strip("`") for name, cells in rows(DOCS / "reference" / "settings.md")}
    fields = {
        prefix + name.upper(): field
        for prefix, program in ((PREFIX, Settings), (console.PREFIX, console.Settings))
        for name, field in program.model_fields.items()
    }
    assert listed.keys() == fields.keys()
    fixed = {
        name: f"{field.default}" for name, field in fields.items() if field.default_factory is None
    }
    assert fixed.items() <= listed.items()


def test_each_error_of_a_gpu_that_counts_is_listed() -> None:
    page = (DOCS / "design" / "fault-tolerance.md").read_text()
    (listed,) = re.findall(r"^XIDs ([\d, and]+) count", page, re.MULTILINE)
    assert [int(xid) for xid in re.findall(r"\d+", listed)] == sorted(HARDWARE_XIDS)

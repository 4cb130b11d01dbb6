"""The card of a job for people: what it is at a glance, and its life."""

from collections.abc import Iterator, Sequence

from plimsoll.cli.jobs.card import Card, Serving, Training
from plimsoll.cli.jobs.life import Moment
from plimsoll.cli.output.document import Document
from plimsoll.cli.output.explanation import hours, moment, second, speeds_text, spots
from plimsoll.cli.output.table import Column, Table

_LIFE = (
    Column("WHEN (UTC)"),
    Column("WHAT", is_state=True),
    Column("GPU-HOURS LOST", is_number=True),
)
Fact = tuple[str, str]


def card_document(card: Card) -> Document:
    """All that is known of a job: facts, then its life."""
    facts = [*_facts(card)]
    table = Table(
        columns=(Column("JOB"),),
        rows=tuple((name,) for name, _ in facts),
        text_title=card.job,
        texts=tuple(text for _, text in facts),
    )
    return (table, life_table(card.life))


def _facts(card: Card) -> Iterator[Fact]:
    priority = "" if card.priority is None else f", priority {card.priority}"
    yield "queue", f"{card.queue}{priority}"
    yield "state", ": ".join(filter(None, (card.reason, card.message))) or "not planned yet"
    if card.suspended and not card.over:
        yield "suspended", "until it is resumed"
    if card.stands_for:
        yield "stands for", f"{card.stands_for}, whose own controller makes its pods"
    if card.targets:
        yield "scales", card.targets
    if card.place:
        yield "ran on" if card.over else "runs on", spots(card.place)
    if card.training is not None:
        yield from _training(card.training)
    if card.serving is not None:
        yield from _serving(card.serving)
    if card.dollars_per_hour is not None:
        yield "costs", f"${card.dollars_per_hour:,.2f} an hour"


def _training(training: Training) -> Iterator[Fact]:
    if training.done is not None:
        yield "progress", _progress(training)
    if training.expected_completion is not None:
        yield "done at", f"about {moment(training.expected_completion)}"
    if training.speeds:
        yield "speed", speeds_text(training.speeds)
    lost = [f"{hours(training.gpu_hours_lost)} to plans in 24 h"] if training.gpu_hours_lost else []
    lost += [f"{training.work_lost:,.10g} {training.unit} redone"] if training.work_lost else []
    if lost:
        yield "work lost", ", ".join(lost)
    if training.restarts:
        yield "restarts", f"{training.restarts} after failures"


def _progress(training: Training) -> str:
    of = f" of {training.work:,.10g}" if training.work is not None else ""
    rate = f", {training.rate:,.4g} a second" if training.rate is not None else ""
    saved = f", saved at {training.saved:,.10g}" if training.saved is not None else ""
    return f"{training.done:,.10g}{of} {training.unit}{rate}{saved}"


def _serving(serving: Serving) -> Iterator[Fact]:
    for role in serving.roles:
        draining = f", {role.draining} draining" if role.draining else ""
        yield role.role, f"{role.ready} of {role.wanted} replicas ready{draining}"
    if serving.load is not None or serving.forecast is not None:
        ahead = f", {serving.forecast:,.4g} forecast" if serving.forecast is not None else ""
        now = "unknown" if serving.load is None else f"{serving.load:,.4g}"
        yield "load", f"{now}{ahead}"
    if serving.attained_percent is not None:
        promised = f"{serving.promised_percent:g} % promised"
        yield "service", f"{serving.attained_percent:g} % of requests within it, {promised}"
    if serving.backlog is not None:
        done = serving.expected_completion
        when = f", done at about {moment(done)}" if done is not None else ""
        yield "backlog", f"{serving.backlog:,.4g}{when}"
    if serving.start_seconds is not None:
        yield "start", f"a replica took {serving.start_seconds} s until it was ready"
    if serving.scales_to_zero:
        yield "at zero", "without load there is no replica, and the next request waits for one"


def life_table(moments: Sequence[Moment]) -> Table:
    """The life of a job."""
    return Table(
        columns=_LIFE,
        rows=tuple((second(each.at), each.what, _cost(each)) for each in moments),
        text_title="WHY",
        texts=tuple(map(_why, moments)),
    )


def _cost(each: Moment) -> str:
    return "-" if each.gpu_hours_lost is None else f"{each.gpu_hours_lost:,.2f}"


def _why(each: Moment) -> str:
    often = f" ({each.times} times)" if each.times > 1 else ""
    return ": ".join(filter(None, (each.reason, each.message))) + often

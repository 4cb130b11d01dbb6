"""Occurrences as CloudEvents 1.0, in the structured JSON form.

See https://github.com/cloudevents/spec.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from plimsoll_console.notifications.occurrences import Kind, Occurrence

CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
_TYPES: Final = {kind: f"dev.plimsoll.job.{kind}" for kind in Kind} | {
    Kind.BUDGET_USED: "dev.plimsoll.queue.budgetused"
}


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event with the attributes of the specification.

    `id` is the same each time that the same occurrence is told, so that a receiver can leave out
    what it has already.
    """

    specversion: str = "1.0"
    id: str
    source: str
    type: str
    subject: str
    time: datetime
    datacontenttype: str = "application/json"
    data: Mapping[str, str | float]


def cloud_event(occurrence: Occurrence, source: str) -> CloudEvent:
    """The event that tells of an occurrence."""
    kind, _, rest = occurrence.subject.partition("/")
    namespace, _, name = rest.rpartition("/")
    words = {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "queue": occurrence.queue,
        "reason": occurrence.reason,
        "message": occurrence.message,
    }
    return CloudEvent(
        id=f"{occurrence.uid}/{occurrence.kind}/{occurrence.at:%Y%m%dT%H%M%SZ}",
        source=source,
        type=_TYPES[occurrence.kind],
        subject=occurrence.subject,
        time=occurrence.at,
        data={name: word for name, word in words.items() if word} | dict(occurrence.numbers),
    )


encode = msgspec.json.Encoder().encode

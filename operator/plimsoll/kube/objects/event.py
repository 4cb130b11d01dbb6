"""What was said about an object: an Event, as recorders of either API write it."""

from datetime import datetime

import msgspec

from plimsoll.kube.objects.objects import KubeObject, Wire


class ObjectReference(Wire, frozen=True):
    """The object that an event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(Wire, frozen=True):
    """Who said it, by the older API."""

    component: str = ""


class EventSeries(Wire, frozen=True):
    """How often it was said, by the newer API."""

    count: int = 0
    last_observed_time: datetime | None = None


class Event(KubeObject, frozen=True):
    """An event; recorders of the newer API leave counts and times of the older one unset."""

    involved_object: ObjectReference = ObjectReference()
    reason: str | None = None
    message: str | None = None
    type: str = ""
    count: int | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: EventSeries | None = None
    source: EventSource = EventSource()
    reporting_controller: str = msgspec.field(default="", name="reportingComponent")

    @property
    def times(self) -> int:
        """How often it was said."""
        return self.series.count if self.series is not None else self.count or 1

    @property
    def first(self) -> datetime | None:
        """When it was said first."""
        return self.first_timestamp or self.event_time or self.metadata.creation_timestamp

    @property
    def last(self) -> datetime | None:
        """When it was said last."""
        of_series = self.series.last_observed_time if self.series is not None else None
        return of_series or self.last_timestamp or self.first

    @property
    def by(self) -> str:
        """Who said it."""
        return self.reporting_controller or self.source.component

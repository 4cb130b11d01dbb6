"""What all messages of the API have in common."""

from datetime import datetime

import msgspec


class Message(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a message."""


class Problem(Message, frozen=True):
    """Why a request was not carried out, in sentences that say what to do."""

    problems: tuple[str, ...]


class Stamped(Message, frozen=True):
    """A message about the cluster at one moment.

    `version` changes with each change of what the message is made from. `staleSince` is set while
    what is shown has not been confirmed to be current.
    """

    time: datetime
    version: str
    stale_since: datetime | None


class Changed(Message, frozen=True):
    """The data of an event: the view has changed since the `version` that was sent before.

    The page asks for the view again. The event's name is `changed`; other events are `stale`,
    `current` and `end`, whose data are a `Problem` that says why, and after which the stream ends.
    """

    view: str
    version: str

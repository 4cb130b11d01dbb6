"""The errors of the console, as one tree.

- PlimsollError
  - AskRefused           the request is refused with the HTTP status `status`
    - BadQuestion        400: the message names the field and what to send instead
    - NotSignedIn        401: the token is missing, expired, or not valid here
    - NotAllowed         403: a right is missing
    - NothingThere       404: it does not exist, or may not be seen
    - AskedTooOften      429: the request exceeds a limit
    - NotReady           503: the cluster is not known yet, or rights cannot be reviewed
    - TooHard            504: the answer took too long
  - NotDelivered         a receiver of notifications did not take one
"""

# ruff: noqa: N818 - as in plimsoll.errors.

from plimsoll.errors import PlimsollError


class AskRefused(PlimsollError):
    """A request was refused."""

    status = 400


class BadQuestion(AskRefused):
    """The request cannot be used; the message names the field and what to send instead."""


class NotSignedIn(AskRefused):
    """The token is missing, expired, or not valid here."""

    status = 401


class NotAllowed(AskRefused):
    """A right is missing."""

    status = 403


class NothingThere(AskRefused):
    """What was asked for does not exist, or may not be seen: these two are never told apart."""

    status = 404


class AskedTooOften(AskRefused):
    """The request exceeds a limit; it may succeed later."""

    status = 429


class NotReady(AskRefused):
    """The cluster is not known yet, or rights cannot be reviewed."""

    status = 503


class TooHard(AskRefused):
    """The answer took too long."""

    status = 504


class NotDelivered(PlimsollError):
    """A receiver did not take a notification; the message says why."""

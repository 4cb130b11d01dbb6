"""The one error of a source of programs."""


class SourceFailedError(Exception):
    """This source cannot provide the programs; the message says why. Another may."""

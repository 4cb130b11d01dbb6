"""The one way in which a source of programs fails."""


class SourceFailedError(Exception):
    """This source cannot provide the programs; the message says why. Another may."""

"""By what usage is summed: the words of the console's reports and of `plimsoll usage`."""

from enum import StrEnum


class Dimension(StrEnum):
    """What sums can be made by."""

    QUEUE = "queue"
    NAMESPACE = "namespace"
    USER = "user"
    JOB = "job"
    TYPE = "type"
    POOL = "pool"
    OPTION = "option"
    FRACTION = "fraction"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"

"""How long a gang that never changes would take to get so far."""

from plimsoll_simulator.programs.training import Gang
from plimsoll_simulator.recorded.submission import RecordedSpeed


def seconds_of(speed: RecordedSpeed, gang: Gang, amount: float) -> float:
    """The seconds of training, without any start."""
    done = seconds = 0.0
    while done < amount:
        pace = speed(gang, done)
        until = min(pace.until, amount)
        seconds += (until - done) / pace.rate
        done = until
    return seconds

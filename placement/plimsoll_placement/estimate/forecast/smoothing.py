"""Fading averages and recent maxima over series in which values may be missing."""

from functools import lru_cache

import numpy as np

from plimsoll_placement.estimate.forecast.history import Floats

_BLOCK = 64


def averages(values: Floats, half_lives: tuple[float, ...], *, before: float = np.nan) -> Floats:
    """Averages of the values so far by row, one row for each half-life in steps.

    A missing value leaves the average unchanged. `before` is a value seen once before the first;
    without it the average is NaN until there is a value.
    """
    seen = np.isfinite(values)
    first = [before, 1.0] if np.isfinite(before) else [0.0, 0.0]
    sums = _discounted(np.array([np.where(seen, values, 0.0), seen]), half_lives, np.array(first))
    with np.errstate(invalid="ignore"):
        return sums[:, 0] / sums[:, 1]


def highest(values: Floats, width: int) -> Floats:
    """The highest of the last `width` values at each step; NaN where none is known."""
    found, covered = values, 1
    while covered < width:
        shift = min(covered, width - covered)
        found = np.fmax(found, shifted(found, shift))
        covered += shift
    return found


def shifted(values: Floats, steps: int) -> Floats:
    """The values `steps` steps earlier (later, if negative); NaN where there is none."""
    found = np.full(len(values), np.nan)
    if steps >= 0:
        found[steps:] = values[: max(0, len(values) - steps)]
    else:
        found[:steps] = values[-steps:]
    return found


def last_known(values: Floats) -> Floats:
    """The latest known value at each step; NaN before the first."""
    latest = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), -1))
    return np.where(latest >= 0, values[latest], np.nan)


def believed(values: Floats) -> Floats:
    """The values without those that appear to be measured over only part of their step.

    That is assumed of a value that follows missing ones and is less than half the last before them:
    typically a counter that is read again only at the end of a step, averaged over the whole step.
    """
    before = shifted(last_known(values), 1)
    after_a_gap = np.isnan(shifted(values, 1)) & np.isfinite(before)
    with np.errstate(invalid="ignore"):
        return np.where(after_a_gap & (values < before / 2), np.nan, values)


def _discounted(rows: Floats, half_lives: tuple[float, ...], before: Floats) -> Floats:
    """Discounted sums by half-life, row and step; computed in blocks, then carried over.

    `before` holds the initial sums by row.
    """
    within, carried = _kernels(half_lives)
    steps = rows.shape[1]
    blocks = -(-steps // _BLOCK)
    padded = np.zeros((len(rows), blocks * _BLOCK))
    padded[:, :steps] = rows
    sums = padded.reshape(1, len(rows), blocks, _BLOCK) @ within[:, None]
    carries = np.empty((blocks + 1, len(half_lives), len(rows)))
    carries[0] = before
    totals, through = np.moveaxis(sums[:, :, :, -1], 2, 0).copy(), carried[:, -1:]
    for block in range(blocks):
        carries[block + 1] = totals[block] + carries[block] * through
    sums += np.moveaxis(carries[:-1], 0, 2)[:, :, :, None] * carried[:, None, None]
    return sums.reshape(len(half_lives), len(rows), -1)[:, :, :steps]


@lru_cache(maxsize=64)
def _kernels(half_lives: tuple[float, ...]) -> tuple[Floats, Floats]:
    """What a value in a block adds to each later sum in it, and what the sum before it does."""
    kept = 0.5 ** (1 / np.array(half_lives))[:, None, None]
    steps = np.arange(_BLOCK)
    ages = steps[None, :] - steps[:, None]
    within = np.where(ages >= 0, kept ** np.maximum(ages, 0), 0.0)
    return within, kept[:, 0] ** (steps + 1)

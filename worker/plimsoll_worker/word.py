"""What the processes of a gang agree on, as one number: save or not, stop or not, and why.

It fits into 31 bits. Of several words the largest asks for the most, so the maximum over all
processes is a fair word for all, and so is the word of one of them.
"""

from __future__ import annotations

import zlib

STOP = 1 << 30
SAVE = 1 << 29
_MARK = SAVE - 1
TERMINATED = 1
"""The mark of SIGTERM, which no notice announced."""


def mark_of(notice: str) -> int:
    """The mark of a notice, for processes that have not received it themselves."""
    return zlib.crc32(notice.encode()) & _MARK


def mark_in(word: int) -> int:
    """What the word is for: 0 if for nothing but that it is time to save."""
    return word & _MARK


def word_of(*, save: bool, stop: bool, mark: int) -> int:
    """The word for what is to be done."""
    return (SAVE if save else 0) | (STOP if stop else 0) | mark

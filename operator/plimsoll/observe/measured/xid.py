"""Which errors of NVIDIA's driver (XIDs) mean that a GPU or its node is at fault, and in words.

The source is NVIDIA's catalogue, https://docs.nvidia.com/deploy/xid-errors/, as its NVSentinel has
it in `xiderrorsmapping.csv`: those count for which the immediate action is to reset the GPU, to
restart the machine or to look at the hardware, and of those that have a procedure of their own 48
and 74, errors of the memory and of NVLinks.

Those do not count that it leaves to the application or to be ignored, above all 13 (exception of a
kernel), 31 (access to memory that is not there), 43 (a channel was reset) and 45 (channels of a
process that ends are removed), which any faulty program brings about; nor 63 and 94, where the
hardware has helped itself: a row of the memory was replaced, an error of the memory was contained
in one process; nor 92 (many errors that were corrected). 144 to 150 and 154 need not mean much, and
which one it is does not follow from the number.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

HARDWARE_XIDS: Final[Mapping[int, str]] = MappingProxyType(
    {
        46: "the GPU stopped processing",
        48: "an error of the memory that cannot be corrected (double bit)",
        54: "its auxiliary power is not connected",
        62: "its internal micro-controller halted",
        64: "a faulty row of its memory could not be replaced",
        74: "an NVLink failed",
        79: "it has fallen off the bus",
        95: "an error of the memory that could not be contained",
        109: "a change of context timed out, and the GPU must be reset",
        110: "a security fault, and the GPU must be reset",
        119: "its system processor (GSP) does not answer",
        120: "its system processor (GSP) failed",
        136: "an NVLink could not be trained",
        140: "errors of the memory that were not recovered",
        143: "it could not be initialised",
        155: "an NVLink was taken down by the driver",
        156: "a part of it was retired, and the GPU must be reset",
        158: "a fatal timeout",
        160: "a channel of its memory was retired",
    }
)
"""What each XID of the hardware means, for people."""

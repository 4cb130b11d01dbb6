"""The NVIDIA driver errors (XIDs) that mean a faulty GPU or node, with their descriptions.

The source is NVIDIA's catalogue, https://docs.nvidia.com/deploy/xid-errors/, as its NVSentinel has
it in `xiderrorsmapping.csv`. XIDs count if their immediate action is to reset the GPU, restart the
machine or inspect the hardware. Of those with a procedure of their own, 48 and 74 count: memory and
NVLink errors.

XIDs left to the application or to be ignored do not count, above all 13 (kernel exception), 31
(access to unmapped memory), 43 (channel reset) and 45 (channels of an ending process removed),
which any faulty program can cause; nor 63 and 94, where the hardware has recovered: a memory row
was remapped, a memory error was contained in one process; nor 92 (high rate of corrected errors).
144 to 150 and 154 may be harmless, which the number alone does not show.
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
"""The meaning of each hardware XID, for people."""

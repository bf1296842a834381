"""The layout of a file of records. All numbers are little-endian, without padding.

====================  ========  =====================================================================
offset                size      what
====================  ========  =====================================================================
0                     4         CRC32 of all that follows up to the samples; 0 in files of old writers
4                     8         N, the number of samples, signed
12                    4 N       CRC32 of each sample
12 + 4 N              8 N       where each sample begins in the file, signed
12 + 12 N                       the samples, back to back; the last one ends with the file
====================  ========  =====================================================================
"""

from __future__ import annotations

import struct

#: Checksum of the index, and N.
HEADER = struct.Struct("<Iq")
#: What each sample takes in the index.
PER_SAMPLE = 12
#: What names of such files end with.
SUFFIX = ".ffr"


def offsets_at(n: int) -> int:
    """Return the position of the offsets in a file of `n` samples, bytes."""
    return HEADER.size + 4 * n


def data_at(n: int) -> int:
    """Return the position of the first sample in a file of `n` samples, bytes."""
    return HEADER.size + PER_SAMPLE * n

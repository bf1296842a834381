"""FFRecord: samples of bytes in a file, read by their numbers (docs/ffrecord.md).

The format is that of HFAiLab's ffrecord 1.4: files of either are read by the other. This is an implementation of its
own in NumPy; `isal`, where it is installed, makes checksums several times faster. `hai_ffrecord.torch` has the data set
and the loader for PyTorch.
"""

from __future__ import annotations

from hai_ffrecord.alignment import check_fs_align
from hai_ffrecord.dumping import dump
from hai_ffrecord.errors import FFRecordError
from hai_ffrecord.folder import NotPacked, PackedFolder, pack_folder
from hai_ffrecord.reader import FileReader
from hai_ffrecord.writer import FileWriter

__all__ = [
    "FFRecordError",
    "FileReader",
    "FileWriter",
    "NotPacked",
    "PackedFolder",
    "check_fs_align",
    "dump",
    "pack_folder",
]

"""`ffrecord.fileio` of the original."""

from __future__ import annotations

from hai_ffrecord import FileReader, FileWriter
from hai_ffrecord import check_fs_align as checkFsAlign  # noqa: N812 -- the original's name

__all__ = ["FileReader", "FileWriter", "checkFsAlign"]

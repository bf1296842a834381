"""The import name of the original: `hai_ffrecord` under the names of HFAiLab's ffrecord 1.4."""

from __future__ import annotations

from ffrecord import utils
from hai_ffrecord import FileReader, FileWriter, PackedFolder, pack_folder
from hai_ffrecord import check_fs_align as checkFsAlign  # noqa: N812 -- the original's name

#: The version of the original whose interface this is.
__version__ = "1.4.0"

__all__ = ["FileReader", "FileWriter", "PackedFolder", "checkFsAlign", "pack_folder", "utils"]

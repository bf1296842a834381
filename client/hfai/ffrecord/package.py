"""`ffrecord.package` of the original."""

from __future__ import annotations

from hai_ffrecord import PackedFolder, pack_folder

__all__ = ["PackedFolder", "pack_folder"]

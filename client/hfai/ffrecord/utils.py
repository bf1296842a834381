"""`ffrecord.utils` of the original."""

from __future__ import annotations

from hai_ffrecord import dump

__all__ = ["dump"]

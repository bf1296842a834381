"""`from hfai.datasets.coco import CocoCaption`."""

from __future__ import annotations

from hfai.datasets.known import CocoCaption

__all__ = ["CocoCaption"]

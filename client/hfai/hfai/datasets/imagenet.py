"""`from hfai.datasets.imagenet import ImageNet`."""

from __future__ import annotations

from hfai.datasets.known import ImageNet

__all__ = ["ImageNet"]

"""The same module as `hfai.distributed`."""

from __future__ import annotations

import sys

import hfai.distributed

sys.modules[__name__] = hfai.distributed

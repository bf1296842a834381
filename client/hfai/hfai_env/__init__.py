"""`hfai_env.set_env("name")`: another name of `hf_env`."""

from __future__ import annotations

from hf_env import set_env

__all__ = ["set_env"]

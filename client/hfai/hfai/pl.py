"""The original's helpers for Lightning are not here: Lightning needs none of them on HAI.

Submit with the profile `slurm`: Lightning then finds its nodes and ranks, saves when it is told to leave, and resumes.
"""

from __future__ import annotations

from typing import Any

_INSTEAD = {
    "HFAIEnvironment": "leave the plugin out: with `--profile slurm` Lightning finds nodes and ranks by itself",
    "ModelCheckpointHF": "leave the callback out: with `--profile slurm` Lightning saves on the notice, and resumes",
    "nn_to_hfai": "leave the call out: there are no other operators to put in the place of PyTorch's",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    how = _INSTEAD.get(name, "see docs/original.md of HAI for what there is")
    # `from hfai.pl import NAME` shows an ImportError's own text only.
    raise ImportError(f"hfai.pl.{name} is not part of hai-hfai; {how}")

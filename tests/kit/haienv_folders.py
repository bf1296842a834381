"""Generations of environments made by hand, without uv: a manifest, a prefix with a Python, and env.toml."""

from __future__ import annotations

import json
from pathlib import Path

from hai_scheduler.core.model.pins import Pin


def publish(root: Path, pin: Pin, *, current: bool = True) -> Path:
    """Make the generation of a pin, the current one of its environment; returns its folder."""
    env = root / pin.name
    folder = env / "generations" / str(pin.generation)
    programs = folder / "prefix" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(pin.interpreter)
    variables = "".join(f"{name} = {json.dumps(value)}\n" for name, value in pin.variables.items())
    (folder / "env.toml").write_text(f"[variables]\n{variables}")
    (folder / "requirements.lock").write_text("numpy==2.3.1 \\\n    --hash=sha256:0\n")
    write_manifest(root, pin)
    if current:
        (env / "current").unlink(missing_ok=True)
        (env / "current").symlink_to(f"generations/{pin.generation}")
    return folder


def write_manifest(root: Path, pin: Pin) -> None:
    """Write the manifest of a pin's generation."""
    facts = {
        "schema": 1, "name": pin.name, "generation": pin.generation, "digest": pin.digest, "files": 1, "size": 1,
        "lock": "sha256:0", "python": pin.python, "interpreter": pin.interpreter, "machine": "x86_64", "glibc": "2.17",
        "cuda": None, "extends": None, "extends_digest": None, "requirements": [], "built_by": "ann",
        "built_at": "2026-01-05T08:00:00Z", "kernel": False,
    }  # fmt: skip
    folder = root / pin.name / "generations" / str(pin.generation)
    (folder / "manifest.json").write_text(json.dumps(facts))

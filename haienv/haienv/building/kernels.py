"""The kernelspec of a generation, with which Jupyter offers it as a kernel, without executing anything to list it."""

from __future__ import annotations

import json
from pathlib import Path

from haienv.shared.files import write_atomically
from haienv.store.layout import KERNEL, Generation
from haienv.store.names import BASE, GROUPS, EnvName


def title(name: EnvName) -> str:
    """Return the name that the Launcher shows: it tells own, group and base environments apart."""
    if name.owner.level == BASE:
        return f"{name.name} (base)"
    whose = f"group {name.owner.name}" if name.owner.level == GROUPS else name.owner.name
    return f"{name.name} ({whose})"


def write(generation: Generation, name: EnvName, variables: dict[str, str], *, below: Path | None = None) -> None:
    """Write the kernelspec of a generation, below its folder or below another one (`below`). Raises OSError."""
    folder = (below or generation.folder) / KERNEL
    folder.mkdir()
    spec = {
        "argv": [str(generation.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": title(name),
        "language": "python",
        # A PYTHONPATH of the server is for another Python.
        "env": {**variables, "VIRTUAL_ENV": str(generation.prefix), "PYTHONPATH": "", "HAIENV": str(name)},
        "metadata": {
            "debugger": True,
            "haienv": {"environment": str(name), "generation": generation.number, "prefix": str(generation.prefix)},
        },
    }
    write_atomically(folder / "kernel.json", json.dumps(spec, indent=1) + "\n")


def jupyter_folder(folder: Path) -> Path:
    """Return the folder for JUPYTER_PATH that offers the kernels of an owner."""
    return folder / ".jupyter"

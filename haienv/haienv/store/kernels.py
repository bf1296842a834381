"""The kernelspec of a generation, with which Jupyter offers it as a kernel, without executing anything to list it.

An owner's folder has `.jupyter/kernels/KERNEL -> ../../NAME/current/kernel` for each environment. `OWNER/.jupyter` in
JUPYTER_PATH so offers all kernels of that owner, each as soon as `current` has moved. `kernel/others` is the same
kernel for those with whom a user shares the environment (`haienv.store.shared`): its name says whose it is.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from haienv.shared.files import link_atomically, write_atomically
from haienv.store.layout import KERNEL, EnvFolder, Generation, folder_of
from haienv.store.names import BASE, GROUPS, USERS, EnvName

#: No environment can have this name, as names begin with a letter or a digit.
JUPYTER = ".jupyter"
LOGO = "logo-svg.svg"
#: The folder in that of a kernel with the kernelspec that others have in their Launcher.
OTHERS = "others"
#: The colour of the logo's frame for each level, and the letter in it.
_LOGOS = {USERS: ("#1e88e5", "U"), GROUPS: ("#43a047", "G"), BASE: ("#757575", "B")}


def title(name: EnvName, python: str, *, others: bool = False) -> str:
    """Return the name that the Launcher shows: it tells own, group and base environments apart.

    Args:
        name: The environment.
        python: Its version of Python, such as 3.11.7.
        others: Whether it is a user's, for others' Launchers.
    """
    own = f"of {name.owner.name}" if others else "mine"
    whose = {USERS: own, GROUPS: f"group {name.owner.name}", BASE: "base"}[name.owner.level]
    return f"{name.name} ({whose}) {'.'.join(python.split('.')[:2])}"


def write(
    generation: Generation, name: EnvName, variables: dict[str, str], python: str, *, below: Path | None = None
) -> None:
    """Write the kernelspec and the logo of a generation. Raises OSError.

    Args:
        generation: The generation.
        name: The environment.
        variables: The environment's own variables.
        python: Its version of Python, such as 3.11.7.
        below: The folder to write them in; None: the generation's own.
    """
    folder = (below or generation.folder) / KERNEL
    folder.mkdir()
    spec = {
        "argv": [str(generation.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": title(name, python),
        "language": "python",
        "env": {
            # Jupyter replaces ${...} in these by the server's variables; `$$` is a dollar.
            **{key: value.replace("$", "$$") for key, value in variables.items()},
            "PATH": f"{str(generation.prefix / 'bin').replace('$', '$$')}{os.pathsep}${{PATH}}",
            "VIRTUAL_ENV": str(generation.prefix).replace("$", "$$"),
            # A PYTHONPATH of the server is for another Python.
            "PYTHONPATH": "",
            "HAIENV": f"{name}@{generation.number}",
        },
        "metadata": {
            "debugger": True,
            "haienv": {"environment": str(name), "generation": generation.number, "prefix": str(generation.prefix)},
        },
    }
    write_atomically(folder / "kernel.json", json.dumps(spec, indent=1) + "\n")
    write_atomically(folder / LOGO, logo(name.owner.level))
    if name.owner.level == USERS:
        (folder / OTHERS).mkdir()
        theirs = {**spec, "display_name": title(name, python, others=True)}
        write_atomically(folder / OTHERS / "kernel.json", json.dumps(theirs, indent=1) + "\n")
        os.link(folder / LOGO, folder / OTHERS / LOGO)


def logo(level: str) -> str:
    """Return the logo of kernels of a level as SVG."""
    colour, letter = _LOGOS[level]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="64" height="64">\n'
        f'<rect x="4" y="4" width="56" height="56" rx="12" fill="{colour}"/>\n'
        '<path d="M16 20l10 12-10 12M30 44h10" fill="none" stroke="#fff" stroke-width="5" stroke-linecap="round" '
        'stroke-linejoin="round"/>\n'
        f'<circle cx="47" cy="17" r="13" fill="#fff"/><text x="47" y="23" font-family="sans-serif" font-size="17" '
        f'font-weight="bold" text-anchor="middle" fill="{colour}">{letter}</text>\n</svg>\n'
    )


def offer(env: EnvFolder) -> None:
    """Let Jupyter list the kernel of an environment, or no longer, by what its current generation has.

    Raises:
        OSError: The owner's folder cannot be written.
    """
    link = link_of(env)
    current = env.current()
    if current is None or not (current.folder / KERNEL / "kernel.json").is_file():
        withdraw(env)
        return
    target = os.path.join("..", "..", env.name.name, "current", KERNEL)
    if link.is_symlink() and os.readlink(link) == target:
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    link_atomically(link, target)


def withdraw(env: EnvFolder) -> None:
    """Let Jupyter list the kernel of an environment no longer. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        link_of(env).unlink()


def link_of(env: EnvFolder) -> Path:
    """Return the link by which Jupyter finds the kernel of an environment."""
    return jupyter_folder(folder_of(env.root, env.name.owner)) / "kernels" / env.name.kernel


def jupyter_folder(folder: Path) -> Path:
    """Return the folder for JUPYTER_PATH that offers the kernels of an owner, by the folder of the owner."""
    return folder / JUPYTER

"""The rooms of the packages as a part of docs/architecture.md: `python -m docs.rooms` writes it.

The layers come from the contracts of `.importlinter` that are exhaustive, what a room is for from its first line.
"""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator
from pathlib import Path

from docs.kit import ROOT, text_of

PAGE = "docs/architecture.md"
START, END = "<!-- rooms: made by `make reference` -->\n", "<!-- end of rooms -->\n"
FOLDERS = {
    "hai_client": "client",
    "hai_scheduler": "scheduler_service",
    "hai_slurm": "client/slurm",
    "hai_spawner": "spawner",
    "hai_hub": "hub_config",
    "haienv": "haienv",
}


def containers() -> dict[str, list[list[str]]]:
    """The layers of each package with rooms, the highest first."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    found = {}
    for section in parser.values():
        if section.get("exhaustive") == "true":
            layers = [layer.split(" | ") for layer in section["layers"].split("\n") if layer]
            found[section["containers"]] = layers
    return found


def path_of(module: str) -> Path:
    """The file of a module, or the folder of a package."""
    folder = ROOT / FOLDERS[module.partition(".")[0]] / Path(*module.split("."))
    return folder if folder.is_dir() else folder.with_name(f"{folder.name}.py")


def first_line(module: str) -> str:
    """The first line of the docstring of a module or package."""
    path = path_of(module)
    file = path / "__init__.py" if path.is_dir() else path
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert said, f"{file} has no docstring: say in its first line what it is for"
    return said.split("\n")[0]


def rooms() -> str:
    """The part of the page that lists the rooms."""
    return "".join(_lines())


def _lines() -> Iterator[str]:
    for container, layers in sorted(
        containers().items(), key=lambda item: (not item[0].startswith("hai_scheduler"), item[0])
    ):
        yield f"\n`{container.replace('.', '/')}/`: {first_line(container)}\n\n| layer | room | for |\n|---|---|---|\n"
        for height, layer in zip(range(len(layers), 0, -1), layers, strict=True):
            for name in layer:
                mark = "/" if path_of(f"{container}.{name}").is_dir() else ".py"
                yield f"| {height} | `{name}{mark}` | {first_line(f'{container}.{name}')} |\n"
    yield "\n"


def page() -> str:
    """The whole page as it should be."""
    before, _, rest = text_of(PAGE).partition(START)
    return before + START + rooms() + END + rest.partition(END)[2]


if __name__ == "__main__":
    (ROOT / PAGE).write_text(page(), encoding="utf-8")

"""Writes the catalogues of the command line: of each text that it has, the translation of the panel.

`PYTHONPATH=tools python -m languages`, as `make reference` does. One translation serves both, so that a verdict reads
alike in the panel and in the terminal.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = ROOT / "client" / "hai_client" / "cli" / "language"
LOCALES = ROOT / "lab_extension" / "hai_lab" / "locale"


def keys() -> Iterator[str]:
    """Yield the keys of all texts that the command line says: arguments of `say` and `say_in`."""
    from hai_client.cli.language.catalogue import CONTEXT

    for path in sorted(CODE.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            count = {"say": 1, "say_in": 2}.get(node.func.id, 0)
            texts = [str(named[a.id] if isinstance(a, ast.Name) else ast.literal_eval(a)) for a in node.args[:count]]
            if texts:
                yield CONTEXT.join(texts)


def catalogue(locale: str) -> dict[str, str]:
    """Return the texts of the command line in a language of the panel.

    Raises:
        KeyError: The panel has no such text.
    """
    found = json.loads((LOCALES / locale / "LC_MESSAGES" / "hai_lab.json").read_text(encoding="utf-8"))
    return {key: found[key][-1] for key in sorted(set(keys()))}


def text(locale: str) -> str:
    """Return the file of a language."""
    return json.dumps(catalogue(locale), ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    """Write the file of each language."""
    for folder in sorted(LOCALES.iterdir()):
        (CODE / f"{folder.name}.json").write_text(text(folder.name), encoding="utf-8")


if __name__ == "__main__":
    main()

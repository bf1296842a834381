"""Writes the catalogues of the command line: of each text that it has, the translation of the panel.

`PYTHONPATH=tools python -m languages`, as `make reference` does. One translation serves both, so that a verdict reads
alike in the panel and in the terminal. Texts that only the terminal has are in the panel's catalogues too:
`lab_extension/messages.mjs` asks for them with `python tools/languages.py --keys`, which any Python can run.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLI = ROOT / "client" / "hai_client" / "cli"
CODE = CLI / "language"
LOCALES = ROOT / "lab_extension" / "hai_lab" / "locale"
#: Between a context and its text, as in gettext.
CONTEXT = "\x04"
#: The functions of `catalogue.py` that say a text, and how many of their arguments are its key.
_SAYING = {"say": 1, "heading": 1, "label": 1, "say_in": 2, "label_in": 2}


def keys() -> Iterator[str]:
    """Yield the keys of all texts that the command line says."""
    for path in sorted(CLI.rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        # It has no texts of its own.
        if path == CODE / "catalogue.py" or "hai_client.cli.language.catalogue import" not in code:
            continue
        tree = ast.parse(code)
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
            count = _SAYING.get(node.func.id, 0)
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
    """Write the file of each language, or with `--keys` only name the texts."""
    if "--keys" in sys.argv:
        print(json.dumps(sorted(set(keys()))))
        return
    for folder in sorted(LOCALES.iterdir()):
        (CODE / f"{folder.name}.json").write_text(text(folder.name), encoding="utf-8")


if __name__ == "__main__":
    main()

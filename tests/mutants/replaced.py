"""Puts a mutant into this process: its functions get the code of the mutant, with no call in between."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

from mutants.operators import Mutant, mutated

#: The functions of a module that live now, by qualified name and first line.
Functions = dict[tuple[str, str, int], list[FunctionType]]


def functions_of(paths: Iterable[Path]) -> Functions:
    """All functions of the modules at `paths` that live in this process, those behind properties and caches too."""
    files = {str(path) for path in paths}
    found: Functions = {}
    gc.unfreeze()  # what was frozen, `gc.get_objects` leaves out
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            code = each.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(each)
    return found


def put(mutant: Mutant, functions: Functions) -> bool:
    """Give the functions of the mutant's module the mutant's code.

    Returns:
        False if the function that holds the change does not live here, so that tests cannot notice the change.
    """
    code = compile(mutated(mutant.path, mutant.number), str(mutant.path), "exec", dont_inherit=True)
    done = False
    for each in _codes(code):
        if each.co_qualname == mutant.function:
            for function in functions.get((str(mutant.path), each.co_qualname, each.co_firstlineno), ()):
                function.__code__ = each
                done = True
    return done


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)

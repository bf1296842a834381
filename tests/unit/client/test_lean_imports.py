"""What is left out of a process."""

from __future__ import annotations

import pytest

from kit.interpreters import said_by


@pytest.mark.parametrize("module", ["nbclient, nbformat", "jupyterhub.app"])
def test_address_checks_are_left_out_where_they_would_be_imported(module: str) -> None:
    code = f"import sys, {module}; print('lark' in sys.modules)"
    lean = "from hai_client.lean_imports import leave_out_address_checks as leave_out; leave_out(); "
    # If the first is no longer true, `hai_client.lean_imports` has become useless.
    assert [said_by(words) for words in (code, lean + code)] == ["True\n", "False\n"]


def test_what_is_there_already_stays() -> None:
    code = (
        "import rfc3987_syntax, sys\n"
        "from hai_client.lean_imports import ADDRESS_CHECKS, leave_out_address_checks\n"
        "leave_out_address_checks()\n"
        "print(sys.modules[ADDRESS_CHECKS] is rfc3987_syntax)\n"
    )
    assert said_by(code) == "True\n"


def test_imports_look_for_no_garbage_and_are_left_out_of_later_looks() -> None:
    code = (
        "import gc\n"
        "from hai_client.lean_imports import imports_for_good\n"
        "before = gc.get_stats()[0]['collections']\n"
        "with imports_for_good():\n"
        "    import sqlalchemy\n"
        "print(gc.get_stats()[0]['collections'] - before, gc.get_freeze_count() > 10_000, gc.isenabled())\n"
    )
    assert said_by(code) == "0 True True\n"

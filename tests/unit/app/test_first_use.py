"""A module that is imported at its first use."""

from __future__ import annotations

from kit.interpreters import said_by


def test_the_database_of_the_hub_is_not_read_where_the_hub_is_asked_by_http() -> None:
    code = "import sys, jupyterhub.services.auth; print('alembic' in sys.modules)"
    lean = "from hai_scheduler.app.first_use import import_at_first_use as at_use; at_use('jupyterhub.orm'); "
    # If the first is no longer true, `import_at_first_use` has become useless.
    assert [said_by(words) for words in (code, lean + code)] == ["True\n", "False\n"]


def test_a_module_that_waits_for_its_first_use_is_the_same_as_ever_then() -> None:
    code = (
        "from hai_scheduler.app.first_use import import_at_first_use\n"
        "import_at_first_use('jupyterhub.orm')\n"
        "import jupyterhub.scopes\n"
        "from jupyterhub import orm\n"
        "print(orm.User.__module__, jupyterhub.scopes.orm is orm)\n"
        "import_at_first_use('jupyterhub.orm')\n"
        "from jupyterhub.orm import User\n"
        "print(User is orm.User)\n"
    )
    assert said_by(code) == "jupyterhub.orm True\nTrue\n"

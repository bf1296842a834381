"""The process of the scheduling loop."""

from __future__ import annotations

import pytest

from kit.interpreters import said_by

OF_THE_API = {"jupyterhub", "pydantic", "yaml", "hai_scheduler.api.routes", "hai_scheduler.service.insight.forecasts"}


@pytest.mark.parametrize(("module", "imported"), [("loop", set()), ("api", OF_THE_API)])
def test_the_loop_imports_nothing_that_answers_requests(module: str, imported: set[str]) -> None:
    code = f"import sys, hai_scheduler.app.serve, hai_scheduler.app.{module}; print(*sys.modules)"
    assert OF_THE_API & set(said_by(code).split()) == imported


def test_the_api_imports_nothing_of_the_loop_and_no_database_of_the_hub() -> None:
    code = (
        "import sys, hai_scheduler.app.serve as serve\n"
        "serve.import_at_first_use('jupyterhub.orm')\n"
        "import hai_scheduler.app.api; print(*sys.modules)\n"
    )
    of_the_loop = {"hai_scheduler.app.loop", "hai_scheduler.service.scheduling.cycle", "alembic"}
    assert of_the_loop & set(said_by(code).split()) == set()

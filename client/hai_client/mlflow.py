"""One run of MLflow for a task, over all its turns: `start_run()` of this module in the place of `mlflow.start_run()`.

    from hai_client.mlflow import start_run

    with start_run():
        mlflow.log_metric("loss", loss, step=step)

MLflow names its runs itself, so the platform cannot choose the name beforehand as it does for Weights & Biases. It tags
each run of MLflow with the task instead, in code that does not use this module too: `tags.`hai.task` = '41'` in the
search of MLflow's page shows those of a task.
"""

from __future__ import annotations

import os
from typing import Any

import mlflow

from hai_client import job


def start_run(run_id: str | None = None, **given: Any) -> mlflow.ActiveRun:
    """Go on with the run of MLflow that an earlier turn of this task has begun; else begin one.

    Outside of a task, with a `run_id` or MLFLOW_RUN_ID of one's own, and for a nested run it does what
    `mlflow.start_run` does. The first run that a task has begun in the experiment is the one that goes on. Let one
    process of the task call it.

    Args:
        run_id: As for `mlflow.start_run`.
        given: As for `mlflow.start_run`.
    """
    own = run_id or os.environ.get("MLFLOW_RUN_ID") or given.get("nested") or given.get("parent_run_id")
    if own or not job.inside or job.restarts == 0:
        return mlflow.start_run(run_id=run_id, **given)
    return mlflow.start_run(run_id=_begun(given.get("experiment_id")), **given)


def _begun(experiment: str | None) -> str | None:
    """Return the id of the first run that this task has begun in an experiment (None: the active one), if any."""
    user = os.environ.get("HAI_USER", "").replace("'", "")
    runs = mlflow.search_runs(
        experiment_ids=None if experiment is None else [experiment],
        filter_string=f"tags.`hai.task` = '{job.task_id}' AND tags.`hai.user` = '{user}'",
        order_by=["attributes.start_time ASC"],
        max_results=1,
        output_format="list",
    )
    return str(runs[0].info.run_id) if runs else None

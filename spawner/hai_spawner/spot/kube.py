"""Servers as pods of the Jupyter nodes, or as tasks on training nodes. Importing it takes seconds."""

from __future__ import annotations

from typing import Any

from hai_spawner.containers.kube import HaiKubeSpawner
from hai_spawner.spot.mixin import SpotMixin


class HaiSpotKubeSpawner(SpotMixin, HaiKubeSpawner):
    """`HaiKubeSpawner`, which can also run a server as a task: a pod that the scheduler service makes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.spot.trait_has_value("command"):
            # The image's Python; hai_client comes with the pod.
            self.spot.command = ["python3", "-m", "hai_client.spot"]

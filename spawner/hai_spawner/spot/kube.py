"""Start servers as pods on Jupyter nodes, or as tasks on training nodes. Importing this takes seconds."""

from __future__ import annotations

from typing import Any

from hai_spawner.containers.kube import HaiKubeSpawner
from hai_spawner.spot.mixin import SpotMixin


class HaiSpotKubeSpawner(SpotMixin, HaiKubeSpawner):
    """A `HaiKubeSpawner` that can also run a server as a task, in a pod that the scheduler service makes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.spot.trait_has_value("command"):
            # The Python of the image; the scheduler service puts hai_client into the pod.
            self.spot.command = ["python3", "-m", "hai_client.spot"]

"""Start servers on this machine, as processes or as tasks."""

from __future__ import annotations

from hai_spawner.containers.local import HaiLocalSpawner
from hai_spawner.spot.mixin import SpotMixin


class HaiSpotLocalSpawner(SpotMixin, HaiLocalSpawner):
    """A `HaiLocalSpawner` that can also run a server as a task of the local cluster."""

    def spot_cwd(self, configured: str) -> str:
        """Return the configured folder, or the user's home, which is made here so that an error can be reported."""
        return configured or str(self.prepare_home())

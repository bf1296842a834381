"""The room of what tasks run in; both roles use it."""

from __future__ import annotations

from hai_scheduler.service.shared.world import World
from hai_scheduler.service.workspace.catalogue import Catalogue
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.fabric_trials import FabricTrials
from hai_scheduler.service.workspace.fabrics import Fabrics
from hai_scheduler.service.workspace.identities import UserIdentities
from hai_scheduler.service.workspace.image_environments import ImageEnvironments
from hai_scheduler.service.workspace.image_machines import ImageMachines
from hai_scheduler.service.workspace.image_pins import ImagePins
from hai_scheduler.service.workspace.mount_rules import MountRules
from hai_scheduler.service.workspace.pin_references import PinReferences
from hai_scheduler.service.workspace.pinning import Pinning
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs
from hai_scheduler.service.workspace.secrets import Secrets


class WorkspaceRoom:
    """Images, environments, mounts, fabrics and code."""

    def __init__(self, world: World) -> None:
        self.code = CodeSnapshots(world)
        self.images = ImageEnvironments(world)
        self.catalogue = Catalogue(world, self.images)
        self.identities = UserIdentities(world)
        self.image_pins = ImagePins(images=world.images)
        self.mount_rules = MountRules(world)
        self.fabric_trials = FabricTrials(world)
        self.fabrics = Fabrics(world, self.fabric_trials)
        self.secrets = Secrets(world)
        self.references = PinReferences(world)
        machines = ImageMachines(world, self.image_pins)
        pinning = Pinning(haienvs=world.haienvs, builder=world.settings.builder, machines=machines)
        self.runtime_envs = RuntimeEnvs(world, pinning)

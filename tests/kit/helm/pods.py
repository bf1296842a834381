"""What a process in a pod of the chart finds: its variables, and the files of its secrets."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path

from kit.helm.rendering import Object, Rendered

#: What is in a Secret that is not the chart's.
ELSEWHERE = "postgresql://user:of-another@elsewhere/hub"
#: The token that the spawner sends to the scheduler.
SPAWNER_TOKEN = "token-of-the-spawner"

Secrets = Mapping[str, Mapping[str, str]]


def secrets_of(made: Rendered) -> dict[str, dict[str, str]]:
    """What the chart's own Secrets hold, by name and key."""
    return {
        entry["metadata"]["name"]: {key: base64.b64decode(text).decode() for key, text in entry.get("data", {}).items()}
        for entry in made.all("Secret")
    }


def environment(pod: Object, secrets: Secrets, folder: Path) -> dict[str, str]:
    """The variables of the first container as the kubelet makes them; its files of secrets are in the folder."""
    made: dict[str, str] = {}
    for variable in pod["containers"][0]["env"]:
        source = variable.get("valueFrom", {}).get("secretKeyRef")
        text = secrets.get(source["name"], {}).get(source["key"], ELSEWHERE) if source else variable["value"]
        made[variable["name"]] = re.sub(r"\$\((\w+)\)", lambda found: made.get(found[1], found[0]), text)
    names = _mounted(pod, secrets, folder)
    found = {name: names.get(text, text) for name, text in made.items()}
    secret_files = [text for name, text in found.items() if name.endswith("_FILE") and name != "SSL_CERT_FILE"]
    assert all(Path(text).is_file() for text in secret_files), found
    return found


def _mounted(pod: Object, secrets: Secrets, folder: Path) -> dict[str, str]:
    """Write the files of the volumes with secrets: where each is, by its name in the pod."""
    places = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    names: dict[str, str] = {}
    for volume in pod["volumes"]:
        for source in volume.get("projected", {}).get("sources", []):
            for item in source["secret"]["items"]:
                file = folder / volume["name"] / item["path"]
                file.parent.mkdir(exist_ok=True)
                file.write_text(secrets.get(source["secret"]["name"], {}).get(item["key"], ELSEWHERE))
                names[f"{places[volume['name']]}/{item['path']}"] = str(file)
    return names

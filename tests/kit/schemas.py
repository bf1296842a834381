"""Objects of Kubernetes against the schemas of each version, from that of `ci.support` to the newest there is."""

from __future__ import annotations

import functools
import json
from typing import Any, Final

from kubernetes_validate import utils

from ci.support import SCHEMAS

# Each look at an object would read the schemas from their files again.
utils.schema_contents = functools.cache(utils.schema_contents)

_THERE: Final = list(dict.fromkeys(utils.major_minor(version) for version in utils.all_versions()))
VERSIONS: Final = _THERE[_THERE.index(SCHEMAS[0]) :]


def check(thing: dict[str, Any]) -> None:
    """Raise `kubernetes_validate.ValidationError`, which names the version, if one of them does not know the object."""
    _check(json.dumps(thing, sort_keys=True))


@functools.cache
def _check(text: str) -> None:
    """Many values of the chart give the same object."""
    thing = json.loads(text)
    for version in VERSIONS:
        utils.validate(thing, version, strict=True)

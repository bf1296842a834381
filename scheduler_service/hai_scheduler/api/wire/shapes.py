"""What the OpenAPI document says about values beyond their types: the forms that the service's own checks demand.

They are only in the document. The checks themselves are in the service and the core, because their messages name the
field, the value and the remedy; a test compares both. Patterns are those of ECMA 262, which JSON Schema uses.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic.config import JsonDict

from hai_scheduler.core.model.leaving import SIGNAL_PATTERN
from hai_scheduler.core.model.limits import HIDDEN_PATTERN, NAME_LENGTH, NAME_PATTERN
from hai_scheduler.core.model.secret_refs import REFERENCE_PATTERN
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.workspace.environments import VARIABLE
from hai_scheduler.core.workspace.mounts import MAX_PRIORITY
from hai_scheduler.service.shared.orders import MOST_HORIZON
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.rank_env import PLATFORM_VARIABLES

_STATE: Final = "|".join(["live", *(state.value for state in TaskState)])

_SHOWN: Final = f"[^{HIDDEN_PATTERN[1:]}"

#: Any text: no database and no environment can hold a NUL character.
TEXT: Final = r"^[^\x00]*$"

#: Beyond ASCII, what is no control, no space and nothing unseen. Python has no classes of Unicode's properties in its
#: patterns, so the document does not say that only letters and digits are allowed there; the field's description does.
_BEYOND: Final = r"[^\x00-\xa0\u00ad\u2000-\u206f\u3000\ufe00-\ufe0f\ufeff]"
#: The name of a task: 1 to 63 characters, and not a number.
TASK_NAME: Final[JsonDict] = {
    "minLength": 1,
    "maxLength": NAME_LENGTH,
    "pattern": rf"^(?![0-9]+$)([A-Za-z0-9]|{_BEYOND})([A-Za-z0-9._-]|{_BEYOND})*$",
}
#: An absolute path.
ABSOLUTE: Final[JsonDict] = {"pattern": r"^/[^\x00]*$"}
#: A command: its first word names a program.
COMMAND: Final[JsonDict] = {"prefixItems": [{"type": "string", "minLength": 1, "pattern": TEXT}]}
#: Names of variables.
VARIABLES: Final[JsonDict] = {"propertyNames": {"pattern": f"^{VARIABLE.pattern}$"}}
#: Names of variables, without those that the platform sets.
TASK_VARIABLES: Final[JsonDict] = {
    "propertyNames": {"pattern": f"^{VARIABLE.pattern}$", "not": {"enum": [*sorted(PLATFORM_VARIABLES)]}}
}
#: The subject of a mount rule or an environment.
SUBJECT: Final[JsonDict] = {"pattern": f"^(public|(user|group):{_SHOWN}+)$"}
#: A text that others read on one line.
SHOWN: Final[JsonDict] = {"pattern": f"^{_SHOWN}*$"}
#: The priority of a mount rule among rules for the same kind of subject.
MOUNT_PRIORITY: Final[JsonDict] = {"minimum": -MAX_PRIORITY, "maximum": MAX_PRIORITY}

#: How far ahead a forecast may look, in seconds.
HORIZON: Final[JsonDict] = {"exclusiveMinimum": 0, "maximum": MOST_HORIZON.total_seconds()}

#: Without retries, the other fields on retries have their defaults.
RETRIES: Final[JsonDict] = {
    "if": {"properties": {"retries": {"const": 0}}},
    "then": {"properties": {"retry_backoff_s": {"const": 0}, "retry_exit_codes": {"maxItems": 0}}},
}
#: A signal and, optionally, the seconds before the deadline.
SIGNAL: Final[JsonDict] = {"pattern": f"^{SIGNAL_PATTERN}$"}
#: A secret of the user, and its place in the task; variables of the platform are no such place.
REFERENCE: Final[JsonDict] = {"pattern": f"^(?!(HAI_|JUPYTERHUB_|CONFIGPROXY_)){REFERENCE_PATTERN}$"}
#: A task without retries sets no other field on retries; a task whose profile sends no signal sets no signal.
TASK: Final[JsonDict] = {
    "allOf": [
        RETRIES,
        {
            "if": {"properties": {"profile": {"enum": ["cooperative", "kill"]}}, "required": ["profile"]},
            "then": {"properties": {"signal": {"type": "null"}}},
        },
    ]
}
#: What dataclasses that are bodies have beyond the types of their fields.
VALUES: Final[dict[type, dict[str, Any]]] = {
    Submission: {
        **TASK,
        "properties": {
            "name": TASK_NAME,
            "command": COMMAND,
            "cwd": ABSOLUTE,
            "env": TASK_VARIABLES,
            "secrets": {"items": REFERENCE},
            "signal": SIGNAL,
            "checkpoint_dir": ABSOLUTE,
            "tags": {"items": SHOWN},
        },
    }
}
#: Fields that a mount rule with `add` needs, and one with `remove` does not have.
MOUNT: Final[JsonDict] = {
    "if": {"properties": {"action": {"const": "remove"}}, "required": ["action"]},
    "then": {"properties": {"kind": {"type": "null"}, "source": {"maxLength": 0}}},
    "else": {
        "properties": {"kind": {"type": "string"}, "source": {"type": "string", "minLength": 1}},
        "required": ["kind", "source"],
    },
}
#: A change of policy numbers names at least one number.
POLICY_CHANGE: Final[JsonDict] = {
    "anyOf": [
        {"properties": {"set": {"minProperties": 1}}, "required": ["set"]},
        {"properties": {"unset": {"minItems": 1}}, "required": ["unset"]},
    ]
}


def one_of(*names: str) -> JsonDict:
    """Return a schema: exactly one of these fields is given and not null."""
    return {
        "oneOf": [
            {
                "required": [name],
                "properties": {
                    other: {"not": {"type": "null"}} if other == name else {"type": "null"} for other in names
                },
            }
            for name in names
        ]
    }


#: Variable parts of paths.
PARTS: Final[dict[str, dict[str, Any]]] = {
    "task": {"type": "string", "minLength": 1},
    "name": {"type": "string", "minLength": 1},
    "user": {"type": "string", "minLength": 1},
    "rule": {"type": "string", "pattern": f"^{NAME_PATTERN}$"},
    "secret": {"type": "string", "pattern": f"^{NAME_PATTERN}$"},
    "environment": {"type": "string", "minLength": 1},
    "run_id": {"type": "string", "minLength": 1},
    "rank": {"type": "integer", "minimum": 0, "maximum": 100_000},
    "profile": {"type": "integer", "minimum": 0},
    "trace": {"type": "integer", "minimum": 0},
    "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
#: Request headers.
HEADERS: Final[dict[str, dict[str, Any]]] = {
    "Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[\x21-\x7e]*$"},
    "Last-Event-ID": {"type": "string"},
    "If-Match": {"type": "string", "pattern": r'^(\*|"[0-9a-f]{16}")$'},
    "If-None-Match": {"type": "string", "enum": ["*"]},
}
#: States with commas between them.
STATES: Final[JsonDict] = {"pattern": f"^({_STATE})(,({_STATE}))*$"}
#: Cursors of pages of tasks and of logs.
TASK_CURSOR: Final[JsonDict] = {"pattern": "^([0-9]{1,18}|~[A-Za-z0-9_-]{1,1999})$"}
LOG_CURSOR: Final[JsonDict] = {"pattern": "^[1-9][0-9]{0,8}:(start|[0-9]{1,18})$"}


def without_nul(schema: Any) -> None:
    """Add to every text in a schema that it holds no NUL character, unless the schema is stricter already."""
    if isinstance(schema, list):
        for part in schema:
            without_nul(part)
    elif isinstance(schema, dict):
        free = not schema.keys() & {"pattern", "enum", "const", "format", "contentMediaType"}
        if schema.get("type") == "string" and free and schema.get("maxLength") != 0:
            schema["pattern"] = TEXT
        for key, part in schema.items():
            if key not in ("if", "then", "else", "not", "oneOf", "default"):
                without_nul(part)

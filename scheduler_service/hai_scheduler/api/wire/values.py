"""Values of the service that are bodies themselves: dataclasses, whose annotations say how they stand in JSON."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Annotated, Any, Final, TypeGuard

from pydantic import AfterValidator, BaseModel, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import refuse_nul
from hai_scheduler.service.shared.sent_as import fields_of
from hai_scheduler.service.tasks.submission import Submission


def is_body(kind: object) -> TypeGuard[type]:
    """Whether a type is a body of the interface: a model, or a dataclass."""
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind))


def wire_name(kind: type) -> str:
    """Return the name of a body in the OpenAPI document."""
    config = getattr(kind, "__pydantic_config__", {})
    return str(config.get("title", kind.__name__))


@cache
def defaults_of(kind: type) -> dict[str, Any]:
    """Return the defaults of a dataclass that is a body as they stand in JSON, by the names there."""
    known = fields_of(kind)
    bare = kind(**{name: None for name, one in known.items() if one.required})
    written = TypeAdapter(kind).dump_python(bare, mode="json", by_alias=True, warnings=False)
    return {one.wire: written[one.wire] for one in known.values() if not one.required}


class InDocument:
    """Adds to the schema of a dataclass what its types do not say: defaults in the words of the wire, and its shapes.

    Args:
        kind: The dataclass.
    """

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema; pydantic calls this."""
        found = handler(core)
        schema = handler.resolve_ref_schema(found)
        defaults = {name: {"default": value} for name, value in defaults_of(self._kind).items()}
        _merge(schema, {"properties": defaults})
        _merge(schema, shapes.VALUES.get(self._kind, {}))
        return found


def _merge(schema: dict[str, Any], more: Any) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(schema.get(key), dict) and key != "default":
            _merge(schema[key], value)
        else:
            schema[key] = value


def _checked(value: Any) -> Any:
    """Refuse NUL characters in the texts of a body, as `Input` does."""
    kind: Any = type(value)
    refuse_nul((one.wire, getattr(value, name)) for name, one in fields_of(kind).items())
    return value


#: A task to submit.
TaskSubmit = Annotated[Submission, AfterValidator(_checked), InDocument(Submission)]


_ADAPTERS: Final[dict[Any, TypeAdapter[Any]]] = {}


def adapter_of(kind: type) -> TypeAdapter[Any]:
    """Return what reads and writes a body."""
    if kind not in _ADAPTERS:
        checked: Any = Annotated[kind, AfterValidator(_checked), InDocument(kind)]
        _ADAPTERS[kind] = TypeAdapter(kind if issubclass(kind, BaseModel) else checked)
    return _ADAPTERS[kind]

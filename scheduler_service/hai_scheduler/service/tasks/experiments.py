"""Reads experiment files of the original platform (YAML, version 2) as submissions.

A key that HAI does not support is refused with a hint what to use instead, and never ignored silently. All faults of
a file are reported at once.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import yaml

from hai_client.experiments import MAX_EXPERIMENT_BYTES, too_large
from hai_scheduler.core.model.leaving import Signal
from hai_scheduler.core.model.limits import MAX_RANKS_PER_NODE
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.core.model.task import RanksPerNode
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import HaiError, Invalid
from hai_scheduler.service.shared.orders import ComputePool, ExperimentFaults, ExperimentOrder
from hai_scheduler.service.tasks.asked_fields import asked_fields
from hai_scheduler.service.tasks.experiment_file import ExperimentFile, a_kind
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.yaml_bounds import BeyondBounds, BoundedLoader

#: The longest file that is read, in bytes: experiments are much shorter, and reading YAML is slow.
MAX_BYTES: Final = MAX_EXPERIMENT_BYTES

#: The node group of a file that names none.
_GROUP: Final = "training"


class InvalidExperiment(HaiError):
    """An experiment file has faults."""

    code = "invalid"

    def __init__(self, faults: tuple[Invalid, ...]) -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults = faults


def read_experiment(text: str) -> Submission:
    """The submission that an experiment file describes. Raises InvalidExperiment."""
    if len(text.encode()) > MAX_BYTES:
        raise InvalidExperiment((Invalid("", None, too_large()),))
    return _Reader(_load(text)).submission()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiments:
    """The use case: a worker reads the files, as reading YAML is slow."""

    workers: ComputePool

    async def read(self, caller: Caller, text: str) -> Submission:
        """The submission that an experiment file describes. Raises InvalidExperiment, TooMany and Unavailable."""
        found = await self.workers.do(caller.name, ExperimentOrder(text=text))
        if isinstance(found, ExperimentFaults):
            raise InvalidExperiment(tuple(Invalid(one.field, one.value, one.message) for one in found.faults))
        assert isinstance(found, Submission)
        return found


class _Loader(BoundedLoader):
    """Loads safe YAML with text, whole numbers, true, false and null only; all other values stay text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 PyYAML's own name
    yaml_constructors = {  # noqa: RUF012 PyYAML's own name
        tag: make
        for tag, make in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "bool", "int", "str", "seq", "map")
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping of a node, whose keys must be texts without duplicates."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is given twice", key.start_mark)
            seen.add(key.value)
            key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]{0,17})\Z", re.ASCII), list("-0123456789")
)


def _load(text: str) -> dict[str, Any]:
    try:
        # _Loader is a SafeLoader: it makes plain values only.
        found = yaml.load(text, Loader=_Loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = str(error.problem) if isinstance(error, BeyondBounds) else f"this is not YAML: {error.problem}"
        raise InvalidExperiment((Invalid(where, None, what),)) from None
    except (yaml.YAMLError, ValueError, LookupError) as error:
        raise InvalidExperiment((Invalid("", None, f"this is not YAML: {str(error).splitlines()[0][:200]}"),)) from None
    except RecursionError:
        raise InvalidExperiment((Invalid("", None, "this is nested too deeply"),)) from None
    if not isinstance(found, dict):
        raise InvalidExperiment((Invalid("", None, "an experiment is a mapping with version, name, spec, resource"),))
    return found


class _Reader:
    """Makes a submission of the keys of a file; each key is read once, and all faults are in `_file`."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._file = ExperimentFile(root)
        self._root = root
        self._spec = self._file.section("spec")
        self._resource = self._file.section("resource")
        self._options = self._file.section("options")

    def submission(self) -> Submission:
        """The submission of the file. Raises InvalidExperiment with all faults."""
        self._version()
        name = self._file.text(self._root, "name")
        cwd = self._file.text(self._spec, "spec.workspace")
        # The client makes a relative path absolute: the final submission must have an absolute one.
        command = self._command()
        priority, env = self._priority(), self._env()
        group, nodes, gpus = self._group(), self._nodes(), self._gpus()
        ranks_per_node = self._ranks_per_node()
        tags, environment = self._tags(), self._environment()
        asked = {field.name: self._file.asked(self._options, field) for field in asked_fields()}
        asked = {name: value for name, value in asked.items() if value is not None}
        backoff, exit_codes = self._backoff(), self._exit_codes()
        if not (retries := asked.get("retries")):
            self._check_no_retries()
        signal, watch, secrets = self._signal(), self._watch(), self._secrets()
        take_snapshot = self._file.flag(self._options, "options.snapshot") or None
        if self._file.faults:
            raise InvalidExperiment(tuple(self._file.faults))
        return Submission(
            name=name,
            command=command,
            cwd=cwd,
            nodes=nodes,
            gpus=gpus,
            priority=priority,
            group=group,
            env=env,
            secrets=secrets,
            signal=signal,
            watch=watch,
            tags=tags,
            **asked,
            retry_backoff=backoff if retries else timedelta(0),
            retry_exit_codes=exit_codes if retries else (),
            environment=environment,
            take_snapshot=take_snapshot,
            ranks_per_node=ranks_per_node,
        )

    def _version(self) -> None:
        version = self._root.get("version")
        if version != 2 or isinstance(version, bool):
            self._file.fault("version", version, "must be 2: other versions of the file are not read")

    def _command(self) -> tuple[str, ...]:
        entry = self._file.text(self._spec, "spec.entrypoint")
        parameters = self._parameters()
        if self._file.flag(self._spec, "spec.entrypoint_executable"):
            return (entry if "/" in entry else f"./{entry}", *parameters)
        if entry.endswith(".py"):
            return ("python", "-u", entry, *parameters)
        if entry.endswith(".sh"):
            return ("bash", entry, *parameters)
        if entry:
            self._file.fault(
                "spec.entrypoint",
                entry,
                "ends neither in .py nor in .sh: set spec.entrypoint_executable to true for a program of its own",
            )
        return ()

    def _signal(self) -> Signal | None:
        value = self._options.get("signal")
        if value is None:
            return None
        try:
            return Signal.parse(str(value))
        except ValueError as error:
            self._file.fault("options.signal", value, str(error))
            return None

    def _watch(self) -> tuple[str, ...]:
        value = self._options.get("watch")
        if value is None:
            return ()
        return self._file.texts("options.watch", value if isinstance(value, list) else [value])

    def _parameters(self) -> tuple[str, ...]:
        value = self._spec.get("parameters")
        if value is None:
            return ()
        if isinstance(value, list):
            return self._file.texts("spec.parameters", value)
        if isinstance(value, str | int) and not isinstance(value, bool):
            try:
                return tuple(shlex.split(str(value)))
            except ValueError as error:
                self._file.fault("spec.parameters", value, f"cannot be split into words ({error}): close every quote")
                return ()
        self._file.fault("spec.parameters", value, f"must be a text or a list of texts, not {a_kind(value)}")
        return ()

    def _env(self) -> dict[str, str]:
        value = self._spec.get("environments")
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._file.fault("spec.environments", value, f"must be a mapping of names to texts, not {a_kind(value)}")
            return {}
        env: dict[str, str] = {}
        for name, text in value.items():
            if isinstance(text, str | int) and not isinstance(text, bool):
                env[str(name)] = str(text)
            else:
                self._file.fault(
                    f"spec.environments.{name}", text, f"must be a text, not {a_kind(text)}: put it in quotes"
                )
        return env

    def _secrets(self) -> tuple[SecretRef, ...]:
        value = self._spec.get("secrets")
        if value is None:
            return ()
        found = []
        for index, text in enumerate(self._file.texts("spec.secrets", value if isinstance(value, list) else [value])):
            try:
                found.append(SecretRef.parse(text))
            except ValueError as error:
                self._file.fault(f"spec.secrets[{index}]", text, str(error))
        return tuple(found)

    def _priority(self) -> Priority | None:
        value = self._root.get("priority")
        if value is None:
            return Priority.NORMAL
        if value in ("AUTO", "auto", -1):
            return None
        levels = {level.name: level for level in Priority} | {str(level.value): level for level in Priority}
        if isinstance(value, bool) or str(value).upper() not in levels:
            names = ", ".join(f"{level.name} ({level.value})" for level in sorted(Priority, reverse=True))
            self._file.fault("priority", value, f"is not a priority: use AUTO or one of {names}")
            return None
        return levels[str(value).upper()]

    def _group(self) -> str:
        if self._resource.get("group") is None:
            return _GROUP
        group = self._file.text(self._resource, "resource.group")
        name, mark, _ = group.partition("#")
        if mark:
            self._file.fault(
                "resource.group", group, f"zones cannot be chosen: write {name!r}; HAI keeps a task together"
            )
        return name

    def _environment(self) -> str | None:
        """The name of an environment, which the original calls an image."""
        return None if self._resource.get("image") is None else self._file.text(self._resource, "resource.image")

    def _nodes(self) -> int:
        return self._file.number(self._resource, "resource.node_count", least=1) or 1

    def _gpus(self) -> int | None:
        return self._file.number(self._resource, "resource.gpus", least=1)

    def _ranks_per_node(self) -> RanksPerNode:
        if self._resource.get("ranks_per_node") == "gpu":
            return "gpu"
        return self._file.number(self._resource, "resource.ranks_per_node", least=1, most=MAX_RANKS_PER_NODE)

    def _check_no_retries(self) -> None:
        for key in ("retry_backoff", "retry_exit_codes"):
            if self._options.get(key) and not self._options.get("retries"):
                self._file.fault(f"options.{key}", self._options[key], "says how to retry: set options.retries too")

    def _backoff(self) -> timedelta:
        return self._file.length(self._options, "options.retry_backoff") or timedelta(0)

    def _exit_codes(self) -> tuple[int, ...]:
        value = self._options.get("retry_exit_codes")
        if value is None:
            return ()
        if not isinstance(value, list):
            self._file.fault("options.retry_exit_codes", value, f"must be a list of numbers, not {a_kind(value)}")
            return ()
        codes = set()
        for index, code in enumerate(value):
            if isinstance(code, int) and not isinstance(code, bool) and 1 <= code <= 255:
                codes.add(code)
            else:
                self._file.fault(f"options.retry_exit_codes[{index}]", code, "is not an exit status from 1 to 255")
        return tuple(sorted(codes))

    def _tags(self) -> tuple[str, ...]:
        value = self._options.get("tags")
        if value is None:
            return ()
        if not isinstance(value, list):
            self._file.fault("options.tags", value, f"must be a list of texts, not {a_kind(value)}")
            return ()
        return self._file.texts("options.tags", value)

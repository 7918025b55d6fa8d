"""A Python function and the tool it runs: one it makes from its own signature, or one a definition describes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from math import ceil
from typing import Any, Literal, get_args

import msgspec

from ferrule.errors import BindingError
from ferrule.model.decision import RISKS
from ferrule.model.tool import TASK_USES, Flag, TaskUse, Tool, infer_facts, raw
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.docstring import read_docstring
from ferrule.runtime.functions.schemas import make_input_schema, make_output_schema
from ferrule.runtime.functions.signature import FunctionSignature, format_label, read_signature


class ToolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `@tool(…)`. None means that the author left an option out, and the fail-closed value counts."""

    name: str | None = None
    namespace: str | None = None
    description: str | None = None
    title: str | None = None
    version: str | None = None
    tags: tuple[str, ...] = ()
    search_hint: str | None = None
    read_only: Flag | None = None
    destructive: Flag | None = None
    idempotent: bool | None = None
    open_world: Flag | None = None
    concurrency_safe: Flag | None = None
    approval_required: bool = False
    risk: str | None = None
    timeout_seconds: float | None = None
    lenient: bool = True
    sensitive: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    exclusive: bool = False
    max_attempts: int | None = None
    task: TaskUse | None = None


Isolation = Literal["none", "process"]
NO_OPTIONS = ToolOptions()
_FACTS = {
    "is_read_only": "read_only",
    "is_destructive": "destructive",
    "is_open_world": "open_world",
    "is_concurrency_safe": "concurrency_safe",
}


class Binding:
    """One function as a tool. Signature and definition are read on first use."""

    shape: Callable[[Any], Any] | None = None
    """Converts the function's value to the tool's; None: no conversion."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        binds: str | None = None,
        stated: ToolOptions = NO_OPTIONS,
        inline: bool = False,
        check: Callable[..., Any] | None = None,
        resume: Callable[..., Any] | None = None,
        isolation: Isolation = "none",
        env: tuple[str, ...] = (),
    ) -> None:
        if not callable(function):
            raise BindingError(f"{function!r} is not a function, so it cannot be a tool")
        if binds is not None and stated != NO_OPTIONS:
            said = ", ".join(
                key for key in ToolOptions.__struct_fields__ if getattr(stated, key) != getattr(NO_OPTIONS, key)
            )
            raise BindingError(
                f"{format_label(function)} is bound to {binds!r}, whose definition says what it is; leave out {said} here"
            )
        if stated.risk is not None and stated.risk not in RISKS:
            raise BindingError(
                f"{stated.risk!r} is not a risk level; choose one of {', '.join(RISKS)} for {format_label(function)}"
            )
        if stated.task is not None and stated.task not in TASK_USES:
            raise BindingError(
                f"{stated.task!r} is not a use of tasks; choose one of {', '.join(TASK_USES)} for {format_label(function)}"
            )
        self.function = function
        self.binds = binds
        """The definition it runs: a tool id, a name or `namespace.name`, perhaps with `@version`. None: its own."""
        self.stated = stated
        self.inline = inline
        """A plain function that never waits: it runs in the event loop itself."""
        self.check = check
        """Looks at the arguments before anything happens; gives what is wrong with them."""
        self.resume = resume
        """Goes on after `Waiting`: gets its state and the answer."""
        self.isolation = isolation
        """`process`: it runs in a process of its own."""
        self.env = env
        """The environment variables such a process may see."""
        if isolation not in get_args(Isolation):
            raise BindingError(
                f"{isolation!r} is not an isolation; write 'process' or nothing for {format_label(function)}"
            )
        self._namespace: str | None = None

    def isolate(self) -> Binding:
        """Returns a copy of the binding that runs in a process of its own."""
        other = copy.copy(self)
        # A cached property, which tells whether the function can be cancelled; that changes with the isolation.
        other.__dict__.pop("tool", None)
        other.isolation = "process"
        return other

    def with_namespace(self, namespace: str | None) -> Binding:
        """Returns a copy with this namespace, unless the binding states one itself."""
        other = copy.copy(self)
        # A cached property, whose id begins with the namespace.
        other.__dict__.pop("tool", None)
        other._namespace = namespace
        return other

    def with_companions(self) -> tuple[Binding, ...]:
        """Returns the binding, followed by the bindings that come with it."""
        return (self,)

    @property
    def label(self) -> str:
        """Returns where the function is: `module:name`."""
        return format_label(self.function)

    @cached_property
    def signature(self) -> FunctionSignature:
        """Reads the function's parameters and return type. Raises BindingError."""
        return read_signature(self.function)

    @cached_property
    def tool(self) -> Tool | None:
        """The tool the function makes; None when it runs one that a definition describes. Raises BindingError."""
        return None if self.binds is not None else self._build_tool()

    def _build_tool(self) -> Tool:
        stated, docs = self.stated, read_docstring(getattr(self.function, "__doc__", None))
        name = stated.name or getattr(self.function, "__name__", "")
        if self.signature.whole is not None:
            raise BindingError(
                f"{self.label} takes `Arguments`, which only a function of a definition can; name the tool"
            )
        description = stated.description or docs.summary
        if not name or name == "<lambda>":
            raise BindingError(f"{self.label} has no name a model could call it by; give one with name=")
        if not description:
            raise BindingError(f"the tool {name!r} ({self.label}) has no description; write a docstring")
        facts, defaulted = infer_facts(
            {fact: said for fact, key in _FACTS.items() if (said := getattr(stated, key)) is not None}
        )
        namespace = stated.namespace or self._namespace or self._module_name()
        schema = make_input_schema(self.function, self.signature, docs, frozenset(stated.sensitive))
        self._refuse_unknown_sensitive(schema)
        output = self._make_output_schema()
        return Tool(
            tool_id=f"{namespace}.{name}",
            namespace=namespace,
            name=name,
            description=description,
            lifecycle="available",
            tool_kind="function",
            dialect="python",
            version=stated.version,
            title=stated.title,
            search_hint=stated.search_hint,
            tags=stated.tags,
            input_schema=raw(schema),
            output_schema=None if output is None else raw(output),
            facts=facts,
            inferred_facts=defaulted,
            approval_required=stated.approval_required,
            payload=raw(self._payload()),
        )

    def _make_output_schema(self) -> JsonObject | None:
        return make_output_schema(self.function, self.signature)

    def _module_name(self) -> str:
        module = self.label.partition(":")[0].rpartition(".")[2]
        return module.strip("_") or "python"

    def _payload(self) -> JsonObject:
        """Returns the standard's fields that the canonical tool has no attribute for."""
        stated = self.stated
        contract: JsonObject = {"sensitive_fields": list(stated.sensitive)} if stated.sensitive else {}
        if not stated.lenient:
            contract["lenient"] = False
        parts: JsonObject = {
            "function": self.label,
            "idempotent": stated.idempotent,
            "input_contract": contract,
            "resource_locks": list(stated.locks),
            "requires_exclusive_context": stated.exclusive or None,
            "retry_policy": {"max_attempts": stated.max_attempts} if stated.max_attempts is not None else None,
            "tool_interface": {"timeout_ms": ceil(stated.timeout_seconds * 1000)} if stated.timeout_seconds else None,
            "permission_profile": {"risk_level": stated.risk} if stated.risk else None,
            "execution_profile": {
                "execution_kind": "embedded_runtime",
                "supports_cancel": self.signature.is_async or self.isolation == "process",
                **({"task": stated.task} if stated.task is not None else {}),
            },
        }
        return {key: part for key, part in parts.items() if part not in (None, {}, [])}

    def _refuse_unknown_sensitive(self, schema: JsonObject) -> None:
        known = schema["properties"]
        for word in self.stated.sensitive:
            first = word.strip("/").replace("/", ".").partition(".")[0].partition("[")[0]
            if first not in known and first != "$":
                raise BindingError(
                    f"{self.label} marks {word!r} as sensitive and has no such parameter; correct the name"
                )

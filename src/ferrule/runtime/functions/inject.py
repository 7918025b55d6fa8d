"""Injects values that no model sends: `Inject` asks for one, `@service` names its factory.

An entry is `logger`, `config`, `config.<section>` or the name of a service, perhaps with a path behind it
(`repo.reader`). `to_python_name` and `to_snake_case` write names of definitions as Python would, so that parameters
and services find one another.
"""

from __future__ import annotations

import keyword
import logging
import re
import types
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, overload

from ferrule.errors import BindingError
from ferrule.model.native_definition import CONFIG, LOGGER

_NO_NAME = re.compile(r"\W")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def to_python_name(field: str) -> str:
    """Converts a schema field to its parameter name: `user-id` to `user_id`, `from` to `from_`, `2fa` to `_2fa`."""
    name = _NO_NAME.sub("_", field)
    if not name or name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def to_snake_case(name: str) -> str:
    """Converts `customerRepo` to `customer_repo`, `HTTPClient` to `http_client`."""
    return _HUMP.sub("_", name).lower()


SERVICE_MARK = "__ferrule_service__"
"""The attribute that holds the name of the service a factory makes."""
ENTRY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z_][a-zA-Z0-9_]*)*")
F = TypeVar("F", bound=Callable[..., Any])


class WholeInput:
    """The mark of a parameter that gets all arguments as one value."""


WHOLE_INPUT = WholeInput()
V = TypeVar("V")
Arguments = Annotated[V, WHOLE_INPUT]
"""`input: Arguments[SendMailInput]`: this parameter gets all arguments as one value, of a type that stubs are made of."""


class Inject(NamedTuple):
    """In `Annotated[Repo, Inject("customerRepo")]`: this parameter gets a service, the logger or a part of the config."""

    entry: str


@overload
def service(target: str, /) -> Callable[[F], F]: ...


@overload
def service(target: F, /) -> F: ...


def service(target: str | F, /) -> object:
    """Marks a function (or a class) as the factory of a service: `@service("customerRepo")`, or `@service` by its own
    name.

    It is called once per app, when a tool first needs it, with what its parameters ask for: `logger`, `config`,
    `<section>_config`, other services. It may be async, or yield the service and clean up after itself.
    """

    def mark(factory: F) -> F:
        name = target if isinstance(target, str) else getattr(factory, "__name__", "")
        if not ENTRY.fullmatch(name) or "." in name:
            raise BindingError(f"{name!r} cannot name a service; use letters, digits and underscores")
        try:
            setattr(factory, SERVICE_MARK, name)
        except AttributeError:
            raise BindingError(f"{factory!r} cannot be marked as a service; wrap it in a function") from None
        return factory

    return mark if isinstance(target, str) else mark(target)


def find_entry(annotation: object) -> str | None:
    """Finds the entry that an annotation asks for; None for an ordinary parameter. Raises BindingError."""
    if get_origin(annotation) is Annotated:
        asked = [note for note in get_args(annotation)[1:] if isinstance(note, Inject)]
        if asked:
            if not ENTRY.fullmatch(asked[0].entry):
                raise BindingError(f"{asked[0].entry!r} cannot be injected; name a service, or config.section")
            return asked[0].entry
        return find_entry(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return next((found for member in get_args(annotation) if (found := find_entry(member)) is not None), None)
    return LOGGER if annotation is logging.Logger else None


def is_config(entry: str) -> bool:
    """Returns True for `config` and everything below it."""
    return entry == CONFIG or entry.startswith(f"{CONFIG}.")


def map_parameters(entries: Iterable[str]) -> dict[str, str]:
    """Maps parameter names to entries. Where two entries claim one name, the plainer claim wins.

    A service: its name as written, in snake_case, or with `_service` behind. `config.section`: `section_config`, or
    `section` where no service is called so.
    """
    known = tuple(dict.fromkeys(entries))
    claims: list[list[tuple[str, str]]] = [[], [], [], []]
    for entry in known:
        below = entry.startswith(f"{CONFIG}.")
        joined = entry.removeprefix(f"{CONFIG}.").replace(".", "_") if below else entry.replace(".", "_")
        plain = to_snake_case(joined)
        if below:
            claims[1] += [(f"{plain}_config", entry), (f"{joined}Config", entry)]
            claims[3] += [(joined, entry), (plain, entry)]
        else:
            claims[0].append((joined, entry))
            claims[1].append((plain, entry))
            claims[2].append((f"{plain}_service", entry))
    found: dict[str, str] = {}
    for name, entry in (claim for tier in claims for claim in tier):
        found.setdefault(to_python_name(name), entry)
    return found

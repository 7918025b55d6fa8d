"""Optional packages: the one table of extras, and the one sentence that names the missing extra.

Executors, clouds and the Cedar engine load their packages from here on first use. This module does not know its
callers; they (the pipeline, a command) put their own names into the sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import ExtraMissing


class Extra(NamedTuple):
    """One extra of the package `ferrule`."""

    package: str
    """The distribution that pip installs for it."""
    modules: tuple[str, ...]
    """The modules Ferrule loads from it."""
    used_for: str
    """The subject of the sentence where nothing more exact is known."""


EXTRAS: Mapping[str, Extra] = {
    "avro": Extra("fastavro", ("fastavro",), "the message format Avro"),
    "aws": Extra("botocore", ("botocore",), "access to AWS"),
    "azure": Extra("azure-identity", ("azure.identity",), "access to Azure"),
    "cedar": Extra("cedarpy", ("cedarpy",), '[policy] engine = "cedar"'),
    "gcp": Extra("google-auth", ("google.auth", "google.oauth2"), "access to Google Cloud"),
    "kafka": Extra("aiokafka", ("aiokafka",), "access to Kafka"),
    "mcp": Extra("mcp", ("mcp",), "the MCP client"),
    "mssql": Extra("mssql-python", ("mssql_python",), "access to SQL Server"),
    "mysql": Extra("asyncmy", ("asyncmy",), "access to MySQL"),
    "postgres": Extra("asyncpg", ("asyncpg",), "access to PostgreSQL"),
    "snowflake": Extra("snowflake-connector-python", ("snowflake.connector",), "access to Snowflake"),
    "watch": Extra("watchfiles", ("watchfiles",), "hearing of changed files at once"),
}
"""Every extra in pyproject.toml but `all`, which is the sum of them."""

# At their most talkative these log the keys they sign with and the tokens they get, so they are kept at INFO
# unless somebody chose a level for that very logger.
_LOGGERS = {"botocore": ("botocore",), "google": ("google",), "azure": ("azure", "msal")}


class DriverMissing(ExecutionFailed):
    """A call failed because its extra is not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(
            "setup_required",
            describe_missing_extra(EXTRAS[extra].used_for, extra),
            code="driver_missing",
            is_untouched=True,
        )
        self.extra = extra


def load_driver(module: str) -> Any:
    """Returns a module of an extra for a call. Raises DriverMissing."""
    extra = find_extra(module)
    for name in _LOGGERS.get(module.partition(".")[0], ()):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    try:
        return import_module(module)
    except ImportError:
        raise DriverMissing(extra) from None


def load_extra(module: str) -> Any:
    """Returns a module of an extra that a setting asks for. Raises ExtraMissing."""
    extra = find_extra(module)
    try:
        return import_module(module)
    except ImportError:
        raise ExtraMissing(describe_missing_extra(EXTRAS[extra].used_for, extra), name=module) from None


def find_extra(module: str) -> str:
    """Returns the extra that brings a module or its parent. Raises LookupError for one that no extra brings."""
    for name, extra in EXTRAS.items():
        if any(module == known or module.startswith(f"{known}.") for known in extra.modules):
            return name
    raise LookupError(f"no extra brings the module {module!r}; add it to EXTRAS")


def describe_failure(failed: ExecutionFailed, needed_by: str) -> str:
    """Returns the message of a failed call; for a missing extra it names who needs it."""
    return describe_missing_extra(needed_by, failed.extra) if isinstance(failed, DriverMissing) else failed.message


def describe_missing_extra(needed_by: str, extra: str) -> str:
    """Returns the one line about a missing extra: who needs it, and the command that installs it."""
    return f"{needed_by} needs the extra {extra!r}; run: pip install 'ferrule[{extra}]'"

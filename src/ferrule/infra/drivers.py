"""Loads a library that not everybody has, when it is first needed, and says how to get one that is not there.

At their most talkative the libraries of clouds log what they sign and what they were answered, keys and tokens included. So they
are kept from that, unless somebody asked for that very logger.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from ferrule.contracts.executor import ExecutionFailed

_LOGGERS = {"botocore": ("botocore",), "google": ("google",), "azure": ("azure", "msal")}


def driver(module: str, extra: str) -> Any:
    """The module. Raises ExecutionFailed (`setup_required`) when the package with it is not installed."""
    package = module.partition(".")[0]
    for name in _LOGGERS.get(package, ()):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    try:
        return import_module(module)
    except ImportError:
        raise driver_missing(package, extra) from None


def driver_missing(package: str, extra: str) -> ExecutionFailed:
    """The failure of a call whose library is not installed."""
    return ExecutionFailed(
        "setup_required",
        f"the package {package!r} is not installed; run: pip install 'ferrule[{extra}]'",
        code="driver_missing",
        is_untouched=True,
    )

"""Failures of file tools: each error of the operating system has one class and one code, and says which path it was."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.failure import ErrorClass
from ferrule.runtime.builtins.failures import quote_text, translate_os_errors
from tests.runtime.builtins.builtin_tools import expect_refusal


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("number", "error_class", "code"),
    [
        (errno.ENOENT, "invalid_arguments", "file_not_found"),
        (errno.EISDIR, "invalid_arguments", "is_a_folder"),
        (errno.ELOOP, "sandbox_violation", "path_outside_roots"),
        (errno.ENXIO, "sandbox_violation", "special_file"),
        (errno.EACCES, "execution_failed", "file_not_accessible"),
        (errno.EDQUOT, "execution_failed", "disk_full"),
    ],
)
def test_an_error_of_the_operating_system_has_a_class_and_names_the_path(
    number: int, error_class: ErrorClass, code: str
) -> None:
    with expect_refusal(error_class, code, "'notes/a.txt'"), translate_os_errors("notes/a.txt"):
        fail(OSError(number, os.strerror(number)))


def test_an_error_nobody_foresaw_is_told_in_the_systems_words() -> None:
    with (
        expect_refusal("execution_failed", "file_error", f"'a': {os.strerror(errno.EMFILE)}"),
        translate_os_errors("a"),
    ):
        fail(OSError(errno.EMFILE, "something else"))
    with expect_refusal("execution_failed", "file_error", os.strerror(errno.EIO)), translate_os_errors("a"):
        fail(OSError("without a number"))


def test_a_failure_does_not_drag_the_real_path_along(tmp_path: Path) -> None:
    with pytest.raises(ExecutionFailed) as failed, translate_os_errors("a"):
        (tmp_path / "missing").read_bytes()
    assert str(tmp_path) not in failed.value.message
    assert failed.value.__suppress_context__


def test_what_is_no_error_of_the_system_passes_unchanged() -> None:
    with pytest.raises(KeyError, match="mine"), translate_os_errors("a"):
        fail(KeyError("mine"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b", "'a b'"), ("a\nb", "'a\\nb'"), ("a\ud800", "'a\\\\ud800'"), ("x" * 201, f"'{'x' * 200}…'")],
)
def test_a_callers_text_is_quoted_on_one_line_and_cut(text: str, expected: str) -> None:
    assert quote_text(text) == expected

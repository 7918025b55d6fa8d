"""What goes wrong at a database: each kind has a class, a code and a sentence that holds no value."""

from __future__ import annotations

import pytest

from ferrule.runtime.executors.database.failures import (
    DatabaseFailed,
    FailureReport,
    as_connect_failure,
    failure_of_call,
    kind_of_state,
    translate_failures,
)
from tests.runtime.executors.database.orders import WHOLE, play
from tests.runtime.executors.database.proxy import proxied
from tests.runtime.executors.database.real_databases import Place, asked, asking, go, postgres, tool


def test_a_broken_rule_names_the_rule() -> None:
    async def story(place: Place) -> None:
        add = tool("add", "INSERT INTO t VALUES (:id, 'x')", kind="action", takes={"id": WHOLE})
        async with asking(add, members=place.members) as app:
            result = await asked(app, "add", {"id": 1})
            assert result.error is not None
            assert result.error.error_code == "constraint_violated"
            assert "t_pkey" in result.error.message

    play(story)


def test_a_commit_without_an_answer_is_told_as_unknown() -> None:
    async def story() -> None:
        async with postgres() as place, proxied(int(place.members["port"]), lambda data: b"COMMIT" in data) as proxy:
            await place.run("CREATE TABLE t (id int)")
            members = {**place.members, "port": proxy.port}
            add = tool(
                "add", "INSERT INTO t VALUES (1)", kind="action", retry_policy={"max_attempts": 3, "backoff_ms": 1}
            )
            async with asking(add, members=members) as app:
                result = await app.surface().call("add", {}, wait=30)
                error = getattr(result, "error", None)
                assert error is not None
                assert error.error_class == "dependency_unavailable"
                assert "not known" in error.message
                assert proxy.connections == 1

    go(story)


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
def test_a_database_that_is_not_there_is_named(engine: str) -> None:
    async def story() -> None:
        members = {"host": "127.0.0.1", "port": 1, "database": "shop", "username": "u", "password": "p"}
        async with asking(tool("find", "SELECT 1 AS one", engine=engine), members=members) as app:
            error = (await asked(app, "find")).error
            assert error is not None
            assert (error.error_class, error.error_code) == ("dependency_unavailable", "unreachable")
            assert "cannot be reached (127.0.0.1:1/shop)" in error.message

    go(story)


@pytest.mark.parametrize(
    ("state", "error_class", "code"),
    [
        ("23505", "invalid_arguments", "constraint_violated"),
        ("25006", "permission_denied", "read_only"),
        ("25P02", "execution_failed", "bad_transaction"),
        ("42501", "permission_denied", "upstream_denied"),
        ("57014", "timeout", "statement_timeout"),
        ("57P01", "dependency_unavailable", "shutting_down"),
        ("ZZ999", "execution_failed", "database_failed"),
        ("", "execution_failed", "database_failed"),
    ],
)
def test_the_longest_state_that_fits_counts(state: str, error_class: str, code: str) -> None:
    found = kind_of_state(state)
    assert (found.error_class, found.code) == (error_class, code)


def test_a_mistake_in_a_statement_is_its_authors() -> None:
    error = DatabaseFailed(FailureReport("sqlstate:42601", kind_of_state("42601"), "syntax error"))
    assert failure_of_call(error, "find", is_fixed=True).error_class == "setup_required"
    assert failure_of_call(error, "find", is_fixed=False).error_class == "invalid_arguments"


def test_the_databases_own_words_are_cut_and_no_message() -> None:
    text = "secret " + "x" * 400 + "\nDETAIL: more"
    found = failure_of_call(
        DatabaseFailed(FailureReport("sqlstate:22000", kind_of_state("22000"), text, ("t_pkey",))), "add", is_fixed=True
    )
    assert "secret" not in found.message and "(t_pkey)" in found.message
    assert found.output is not None
    assert found.output.value == {"database_error": "sqlstate:22000", "message": text[:300] + "…"}


def test_words_about_credentials_go_nowhere() -> None:
    told = FailureReport("sqlstate:28P01", kind_of_state("28P01"), "password authentication failed for user ann")
    assert failure_of_call(DatabaseFailed(told), "find", is_fixed=True).output is None


def test_what_may_have_been_done_is_not_tried_again() -> None:
    told = FailureReport("sqlstate:40001", kind_of_state("40001"))
    assert failure_of_call(DatabaseFailed(told), "add", is_fixed=True).is_retryable is True
    unknown = failure_of_call(DatabaseFailed(told, may_have_acted=True), "add", is_fixed=True)
    assert unknown.is_retryable is False and "is not known" in unknown.message


def test_before_anything_was_asked_the_place_is_worth_knowing() -> None:
    lost, refused_ = (
        FailureReport("sqlstate:08006", kind_of_state("08006")),
        FailureReport("sqlstate:28P01", kind_of_state("28P01")),
    )
    assert as_connect_failure(lost, "db:5432").kind.code == "unreachable"
    assert as_connect_failure(lost, "db:5432").names == ("db:5432",)
    assert as_connect_failure(FailureReport("sqlstate:3D000", kind_of_state("3D000")), "db").names == ("db",)
    assert as_connect_failure(refused_, "db:5432") == refused_


def test_only_failures_of_the_database_are_translated() -> None:
    def report_of(error: BaseException) -> FailureReport | None:
        return FailureReport("sqlstate:57014", kind_of_state("57014")) if isinstance(error, TimeoutError) else None

    def fail(error: Exception) -> None:
        with translate_failures(report_of):
            raise error

    with pytest.raises(DatabaseFailed, match="sqlstate:57014"):
        fail(TimeoutError())
    with pytest.raises(KeyError):
        fail(KeyError("mine"))

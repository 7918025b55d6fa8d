"""What goes wrong at a database: each kind has a class, a code and a sentence that holds no value."""

from __future__ import annotations

import pytest

from ferrule.runtime.executors.database.failures import (
    DatabaseFailed,
    Told,
    at_the_door,
    failed,
    meaning_of,
    translated,
)
from tests.runtime.executors.database.orders import WHOLE, play
from tests.runtime.executors.database.proxy import proxied
from tests.runtime.executors.database.scene import Place, asked, asking, go, postgres, tool


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
    found = meaning_of(state)
    assert (found.error_class, found.code) == (error_class, code)


def test_a_mistake_in_a_statement_is_its_authors() -> None:
    error = DatabaseFailed(Told("sqlstate:42601", meaning_of("42601"), "syntax error"))
    assert failed(error, "find", is_fixed=True).error_class == "setup_required"
    assert failed(error, "find", is_fixed=False).error_class == "invalid_arguments"


def test_the_databases_own_words_are_cut_and_no_message() -> None:
    text = "secret " + "x" * 400 + "\nDETAIL: more"
    found = failed(DatabaseFailed(Told("sqlstate:22000", meaning_of("22000"), text, ("t_pkey",))), "add", is_fixed=True)
    assert "secret" not in found.message and "(t_pkey)" in found.message
    assert found.output is not None
    assert found.output.value == {"database_error": "sqlstate:22000", "message": text[:300] + "…"}


def test_words_about_credentials_go_nowhere() -> None:
    told = Told("sqlstate:28P01", meaning_of("28P01"), "password authentication failed for user ann")
    assert failed(DatabaseFailed(told), "find", is_fixed=True).output is None


def test_what_may_have_been_done_is_not_tried_again() -> None:
    told = Told("sqlstate:40001", meaning_of("40001"))
    assert failed(DatabaseFailed(told), "add", is_fixed=True).is_retryable is True
    unknown = failed(DatabaseFailed(told, may_have_acted=True), "add", is_fixed=True)
    assert unknown.is_retryable is False and "is not known" in unknown.message


def test_before_anything_was_asked_the_place_is_worth_knowing() -> None:
    lost, refused_ = Told("sqlstate:08006", meaning_of("08006")), Told("sqlstate:28P01", meaning_of("28P01"))
    assert at_the_door(lost, "db:5432").meaning.code == "unreachable"
    assert at_the_door(lost, "db:5432").names == ("db:5432",)
    assert at_the_door(Told("sqlstate:3D000", meaning_of("3D000")), "db").names == ("db",)
    assert at_the_door(refused_, "db:5432") == refused_


def test_only_failures_of_the_database_are_translated() -> None:
    def told_of(error: BaseException) -> Told | None:
        return Told("sqlstate:57014", meaning_of("57014")) if isinstance(error, TimeoutError) else None

    def fail(error: Exception) -> None:
        with translated(told_of):
            raise error

    with pytest.raises(DatabaseFailed, match="sqlstate:57014"):
        fail(TimeoutError())
    with pytest.raises(KeyError):
        fail(KeyError("mine"))

"""SQL is read just far enough: parameters, verbs, and that it is one statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.executors.database.statements import BadStatement, Dialect, read_statement

DIALECTS: tuple[Dialect, ...] = ("postgresql", "mysql", "mssql", "bigquery", "snowflake")


def marked(sql: str, dialect: Dialect = "postgresql") -> str:
    return read_statement(sql, dialect).text(lambda position, name: f"<{name}>")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_parameters_become_markers(dialect: Dialect) -> None:
    assert marked("SELECT a FROM t WHERE b=:b AND c IN (:c, :c)", dialect) == (
        "SELECT a FROM t WHERE b=<b> AND c IN (<c>, <c>)"
    )
    assert read_statement("SELECT :a, :b, :a", dialect).names == ("a", "b", "a")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "quiet",
    [
        "'a :name b'",
        "'it''s :name'",
        "'a; b'",
        "/* :name ; */ 1",
        "1 -- :name ; x\n",
        "'' || 'x'",
        '"a :name b"',
        '"a "" :name"',
    ],
)
def test_texts_and_comments_hold_no_parameters(dialect: Dialect, quiet: str) -> None:
    read = read_statement(f"SELECT {quiet}, :x", dialect)
    assert read.names == ("x",)
    assert marked(f"SELECT {quiet}, :x", dialect) == f"SELECT {quiet}, <x>"


@pytest.mark.parametrize(
    ("dialect", "quiet"),
    [
        ("postgresql", "$$ :name ; $$"),
        ("postgresql", "$tag$ $$ :name ' $tag$"),
        ("postgresql", r"E'it\'s :name'"),
        ("postgresql", r"e'\\' || ''"),
        ("postgresql", r"'\'"),
        ("postgresql", "a$b$c"),
        ("postgresql", "x::text::jsonb"),
        ("postgresql", "a[1:n]"),
        ("postgresql", "doc ? 'key' OR doc ?| array['a'] OR doc @> '{}'"),
        ("postgresql", "doc->>'a' #>> '{b}'"),
        ("postgresql", "make_date(year := 2024, month := 1, day := 1)"),
        ("postgresql", "/* a /* :nested */ :still */ 1"),
        ("postgresql", "U&'d\\0061t :name'"),
        ("mysql", r"'it\'s :name'"),
        ("mysql", r'"it\"s :name"'),
        ("mysql", "`a``b :name`"),
        ("mysql", "1 # :name ;\n"),
        ("mysql", "5--5"),
        ("mysql", "@a := 5"),
        ("mssql", "[a :name]]b ; ]"),
        ("mssql", "N'x :name'"),
        ("bigquery", '"""a " :name \' """'),
        ("bigquery", "'''a ' :name'''"),
        ("bigquery", r"r'\d :name'"),
        ("bigquery", r"`a\`b :name`"),
        ("bigquery", "1 # :name\n"),
        ("snowflake", "col:path.to:name"),
        ("snowflake", '"Quoted":name'),
        ("snowflake", "$$ :name $$"),
        ("snowflake", "1 // :name\n"),
        ("snowflake", r"'it\'s :name'"),
        ("snowflake", "x::variant"),
    ],
)
def test_each_language_has_its_own_quotes(dialect: Dialect, quiet: str) -> None:
    read = read_statement(f"SELECT {quiet}, :x", dialect)
    assert read.names == ("x",)
    assert read.text(lambda _, name: f":{name}") == f"SELECT {quiet}, :x"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; DROP TABLE t",
        "SELECT 1;;DELETE FROM t",
        "SELECT 1; -- fine\nSELECT 2",
        "SELECT 1; /* x */ x",
        "SELECT ';' ; UPDATE t SET a=1",
        "SELECT 'unclosed",
        'SELECT "unclosed',
        "SELECT /* unclosed",
        "SELECT 'a\0b'",
        "",
        " -- nothing\n",
        ";",
    ],
)
def test_anything_but_one_whole_statement_is_refused(dialect: Dialect, sql: str) -> None:
    with pytest.raises(BadStatement):
        read_statement(sql, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_semicolon_at_the_end_is_left_out(dialect: Dialect) -> None:
    assert marked("SELECT :a ; -- that is all\n ; ", dialect) == "SELECT <a> "


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgresql", "SELECT $1"),
        ("postgresql", "SELECT $$ a"),
        ("mysql", "SELECT ?"),
        ("mysql", "SELECT 1 /*! UNION SELECT 2 */"),
        ("mysql", "SELECT 1 /*M! UNION SELECT 2 */"),
        ("mssql", "SELECT ?"),
        ("snowflake", "SELECT ?"),
        ("postgresql", "SELECT 1 -- a\rDROP TABLE t"),
    ],
)
def test_what_would_be_read_differently_elsewhere_is_refused(dialect: Dialect, sql: str) -> None:
    with pytest.raises(BadStatement):
        read_statement(sql, dialect)


@pytest.mark.parametrize(
    ("sql", "verbs"),
    [
        ("select 1", ("select",)),
        ("  /* x */ SELECT 1", ("select",)),
        ("(SELECT 1) UNION (SELECT 2)", ("select",)),
        ("WITH x AS (SELECT 1) SELECT * FROM x", ("with",)),
        ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", ("with", "delete")),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", ("with", "insert")),
        ("WITH x AS MATERIALIZED (UPDATE t SET a=1 RETURNING a) SELECT 1", ("with", "update")),
        ("INSERT INTO t (a) SELECT 1", ("insert",)),
        ("SELECT replace(a, 'x', 'y'), (insert('a', 1, 2, 'b')) FROM t", ("select",)),
        ("SELECT a INTO b FROM t", ("select", "into")),
        ("SELECT 1 INTO OUTFILE '/tmp/x'", ("select", "into")),
        ("EXPLAIN ANALYZE DELETE FROM t", ("explain", "delete")),
        ("SELECT 'delete', \"update\" FROM t", ("select",)),
        ("SELECT updated, deleted_at FROM t", ("select",)),
    ],
)
def test_verbs_say_what_a_statement_does(sql: str, verbs: tuple[str, ...]) -> None:
    assert read_statement(sql, "postgresql").verbs == verbs


@given(st.text(max_size=200), st.sampled_from(DIALECTS))
def test_any_text_is_read_or_refused(text: str, dialect: Dialect) -> None:
    try:
        read = read_statement(text, dialect)
    except BadStatement:
        return
    assert len(read.pieces) == len(read.names) + 1
    assert text.startswith(read.pieces[0])


@given(
    st.lists(
        st.sampled_from(["'", '"', "`", "$$", "--", "/*", "*/", ";", ":a", "::", "\\", "\n", " ", "x", "E'"]),
        max_size=30,
    )
)
def test_a_second_statement_is_never_let_through_by_quotes(parts: list[str]) -> None:
    """What is read as one statement keeps everything that stands in it, in order."""
    text = "SELECT " + "".join(parts)
    for dialect in DIALECTS:
        try:
            read = read_statement(text, dialect)
        except BadStatement:
            continue
        again = read.text(lambda _, name: f":{name}")
        assert text.startswith(again)
        assert text[len(again) :].strip(" ;\n") == "" or "--" in text or "/*" in text


def test_the_digest_names_a_statement_and_not_its_values() -> None:
    one, other = read_statement("SELECT :a", "postgresql"), read_statement("SELECT :b", "postgresql")
    assert one.digest != other.digest
    assert one.digest == read_statement("SELECT :a;", "postgresql").digest

"""Parses SQL just far enough to find its parameters (`:name`), its verbs, and that it is one statement.

Strings, quoted names, comments and casts are skipped by the rules of the engine's dialect. Nothing is ever put into a
statement: a parameter becomes the driver's marker, and its value travels beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Literal

import msgspec

Dialect = Literal["postgresql", "mysql", "mssql", "bigquery", "snowflake"]

READING = frozenset({"select", "with", "values", "table", "show", "explain", "describe", "desc"})
"""Verbs of statements that only read."""
CHANGING = frozenset({"select", "with", "values", "insert", "update", "delete", "merge", "replace"})
"""Verbs that an action may use in SQL from its input, unless its definition lists others."""
_INNER_WORDS = "insert update delete merge replace truncate create drop alter grant revoke copy call exec execute into"
_INNER = frozenset(_INNER_WORDS.split())
"""Verbs that count wherever they begin a part of a statement, such as a CTE."""
_CONTROLLING_WORDS = """
begin start commit rollback end abort savepoint release prepare execute deallocate discard set reset lock unlock listen
unlisten notify copy load declare fetch move close vacuum handler kill flush shutdown use do go delimiter install uninstall
change purge xa checkpoint
"""
CONTROLLING = frozenset(_CONTROLLING_WORDS.split())
"""Verbs that act on the session, the transaction or the server: no tool needs them, and no read-only mode stops all."""

_PURE_WORDS = """
count sum avg min max coalesce nullif greatest least lower upper length char_length trim ltrim rtrim lpad rpad substring substr
replace concat concat_ws left right position strpos split_part repeat reverse round floor ceil ceiling trunc abs mod power sqrt
sign now date_trunc date_part extract age to_char to_date to_timestamp to_number make_date cast array_agg string_agg json_agg
jsonb_agg json_build_object jsonb_build_object to_json to_jsonb row_to_json array_length cardinality unnest generate_series
row_number rank dense_rank lag lead over filter any all some in exists values row as and or not on using from where select
interval numeric decimal varchar char
"""
_PURE = frozenset(_PURE_WORDS.split())

_WORD = re.compile(r"[^\W\d][\w$]*")
_NUMBER = re.compile(r"\d[\w.]*")
_NAME = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")
_DOLLAR = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_POSITION = re.compile(r"\$\d+")
_TIGHT = re.compile(r"[\w\"\]\)`]")
"""Characters after which a colon does not begin a parameter: `a[1:n]`, `column:path`."""


class BadStatement(ValueError):
    """SQL that cannot be used. The message says why and repeats nothing of the SQL but names."""


class Statement(msgspec.Struct, frozen=True):
    """One parsed statement."""

    pieces: tuple[str, ...]
    """The text around the parameters, one piece more than there are parameters."""
    names: tuple[str, ...]
    """The parameters in order; a name may come twice."""
    verbs: tuple[str, ...]
    """The first word, then other verbs in it, in lower case."""
    calls: frozenset[str] = frozenset()
    """Words before a parenthesis: functions, and some that are not."""

    def text(self, marker: Callable[[int, str], str]) -> str:
        """Returns the SQL with a marker for each parameter, built from its position and name."""
        parts = [self.pieces[0]]
        for position, (name, piece) in enumerate(zip(self.names, self.pieces[1:], strict=True)):
            parts += (marker(position, name), piece)
        return "".join(parts)

    @property
    def is_plain(self) -> bool:
        """True when it only reads and calls only well-known functions that leave no state in a session."""
        return len(self.verbs) == 1 and self.verbs[0] in ("select", "with", "values", "table") and self.calls <= _PURE

    @property
    def digest(self) -> str:
        """The statement's name in records."""
        return "sha256:" + sha256(self.text(lambda _, name: f":{name}").encode(errors="replace")).hexdigest()[:32]


def read_statement(sql: str, dialect: Dialect) -> Statement:
    """Parses the one statement in a text. Raises BadStatement."""
    return _StatementReader(sql, dialect).read()


class _StatementReader:
    def __init__(self, sql: str, dialect: Dialect) -> None:
        self._sql = sql
        self._dialect = dialect
        self._at = 0
        self._pieces: list[str] = []
        self._names: list[str] = []
        self._verbs: list[str] = []
        self._calls: set[str] = set()
        self._piece_start = 0
        self._before = ""
        """The last token that was neither blank nor comment: a word in lower case, or a sign."""

    def read(self) -> Statement:
        if "\0" in self._sql:
            raise BadStatement("it holds a character that no SQL has")
        while self._at < len(self._sql):
            self._step(self._sql[self._at])
        if not self._verbs:
            raise BadStatement("it is empty")
        self._pieces.append(self._sql[self._piece_start :])
        return Statement(tuple(self._pieces), tuple(self._names), tuple(self._verbs), frozenset(self._calls))

    def _step(self, sign: str) -> None:
        if sign.isspace() or sign == "\ufeff":
            self._at += 1
        elif self._skip_comment(sign):
            pass
        elif sign == ";":
            self._end()
        elif self._skip_quoted(sign):
            self._before = "'"
        elif (word := _WORD.match(self._sql, self._at)) is not None:
            self._word(word[0])
        elif (number := _NUMBER.match(self._sql, self._at)) is not None:
            self._at, self._before = number.end(), "0"
        elif sign == ":":
            self._colon()
        else:
            self._sign(sign)

    def _end(self) -> None:
        """Ends the statement at a semicolon; only blanks and comments may follow, and they are left out."""
        rest = _StatementReader(self._sql[self._at + 1 :], self._dialect)
        while rest._at < len(rest._sql):
            sign = rest._sql[rest._at]
            if sign.isspace() or sign == ";":
                rest._at += 1
            elif not rest._skip_comment(sign):
                raise BadStatement("it holds more than one statement; one is allowed")
        self._sql = self._sql[: self._at]

    def _word(self, text: str) -> None:
        word = text.lower()
        self._at += len(text)
        following = self._sql[self._at : self._at + 1]
        # `E'…'` is a text in which a backslash escapes.
        if word == "e" and following == "'" and self._dialect == "postgresql":
            self._skip_text("'", has_backslashes=True)
            word = "'"
        elif not self._verbs or (word in _INNER and self._is_verb_here(word)):
            self._verbs.append(word)
        self._before = word

    def _is_verb_here(self, word: str) -> bool:
        if word == "into":  # SELECT … INTO creates a table or a file; in the others the word is plain syntax
            return not {"insert", "merge", "replace"} & set(self._verbs)
        if self._sql[self._at :].lstrip()[:1] == "(":
            return False  # a function of that name
        return self._before in ("(", ")") or self._verbs[0] in ("explain", "describe", "desc")

    def _colon(self) -> None:
        following = self._sql[self._at + 1 : self._at + 2]
        if following in (":", "="):
            # A cast or an assignment is no parameter.
            self._at, self._before = self._at + 2, "::"
            return
        found = _NAME.match(self._sql, self._at)
        if found is None or (self._at > 0 and _TIGHT.match(self._sql[self._at - 1])):
            self._at, self._before = self._at + 1, ":"
            return
        self._pieces.append(self._sql[self._piece_start : self._at])
        self._names.append(found[1])
        self._at = self._piece_start = found.end()
        self._before = ":name"

    def _sign(self, sign: str) -> None:
        if sign == "(" and (self._before == "'" or self._before[:1].isalpha() or self._before[:1] == "_"):
            self._calls.add(self._before)  # a quoted name counts as an unknown function
        if sign == "?" and self._dialect not in ("postgresql", "bigquery"):
            raise BadStatement("it holds the marker '?'; write parameters as :name")
        if sign == "$" and self._dialect == "postgresql" and _POSITION.match(self._sql, self._at):
            raise BadStatement("it holds a marker like '$1'; write parameters as :name")
        self._at += 1
        self._before = sign

    def _skip_comment(self, sign: str) -> bool:
        ahead = self._sql[self._at : self._at + 4]
        if ahead.startswith("/*"):
            if self._dialect == "mysql" and (ahead[2:3] == "!" or ahead[2:4] == "M!"):
                raise BadStatement("it holds a comment that MySQL runs ('/*!'); write it without")
            self._block_comment()
            return True
        # In MySQL two dashes begin a comment only when a blank follows.
        is_line = ahead.startswith("--") and (self._dialect != "mysql" or ahead[2:3] in ("", " ", "\t", "\n", "\r"))
        is_line = is_line or (sign == "#" and self._dialect in ("mysql", "bigquery"))
        is_line = is_line or (ahead.startswith("//") and self._dialect == "snowflake")
        if is_line:
            ends = [at for end in "\r\n" if (at := self._sql.find(end, self._at)) >= 0]
            # Engines differ about a lone carriage return as the end of a line: what is comment here could be SQL there.
            if ends and self._sql[min(ends)] == "\r" and self._sql[min(ends) + 1 : min(ends) + 2] != "\n":
                raise BadStatement("a comment in it holds a carriage return")
            self._at = min(ends) + 1 if ends else len(self._sql)
        return is_line

    def _block_comment(self) -> None:
        is_nested = self._dialect in ("postgresql", "mssql")
        depth, self._at = 1, self._at + 2
        while depth:
            opening, closing = self._sql.find("/*", self._at), self._sql.find("*/", self._at)
            if closing < 0:
                raise BadStatement("a comment in it has no end")
            if is_nested and 0 <= opening < closing:
                depth, self._at = depth + 1, opening + 2
            else:
                depth, self._at = depth - 1, closing + 2

    def _skip_quoted(self, sign: str) -> bool:
        dialect = self._dialect
        if sign in "'\"" and dialect == "bigquery" and self._sql.startswith(sign * 3, self._at):
            self._at += 2
            self._skip_text(sign * 3, has_backslashes=True)
        elif sign == "'":
            self._skip_text("'", has_backslashes=dialect in ("mysql", "bigquery", "snowflake"))
        elif sign == '"':
            self._skip_text('"', has_backslashes=dialect in ("mysql", "bigquery"))
        elif sign == "`" and dialect in ("mysql", "bigquery"):
            self._skip_text("`", has_backslashes=dialect == "bigquery")
        elif sign == "[" and dialect == "mssql":
            self._skip_text("]", has_backslashes=False)
        elif sign == "$" and dialect in ("postgresql", "snowflake"):
            return self._skip_dollar_quoted()
        else:
            return False
        return True

    def _skip_dollar_quoted(self) -> bool:
        opening = _DOLLAR.match(self._sql, self._at)
        # Snowflake has no tag between the dollar signs.
        if opening is None or (self._dialect == "snowflake" and opening[0] != "$$"):
            return False
        end = self._sql.find(opening[0], opening.end())
        if end < 0:
            raise BadStatement("a text in it has no end")
        self._at = end + len(opening[0])
        return True

    def _skip_text(self, quote: str, *, has_backslashes: bool) -> None:
        sql, at = self._sql, self._at + 1
        while at < len(sql):
            if has_backslashes and sql[at] == "\\":
                at += 2
            elif sql.startswith(quote, at):
                at += len(quote)
                if not sql.startswith(quote, at) or len(quote) > 1:
                    self._at = at
                    return
                at += 1  # a doubled quote is one in the text
            else:
                at += 1
        raise BadStatement("a text or a quoted name in it has no end")

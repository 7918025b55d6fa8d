"""An index leaves out rules that cannot fit, and nothing else: any rules, any arguments, failures included."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from enum import Enum, IntEnum, auto
from typing import Any
from unittest.mock import Mock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ferrule.contracts.policy import JudgedCall
from ferrule.model.decision import Behavior, Ruling
from ferrule.runtime.policy.classifiers import ClassifierPanel
from ferrule.runtime.policy.commands import split_pattern
from ferrule.runtime.policy.compiled import CompiledRule, compile_rule
from ferrule.runtime.policy.conditions import OPERATORS, compile_regex
from ferrule.runtime.policy.engine import make_engine
from ferrule.runtime.policy.globs import find_glob_defect
from ferrule.runtime.policy.indexing.index import ArgumentIndex, RuleToolIndex
from ferrule.runtime.policy.paths import PathBase
from ferrule.runtime.policy.program import ProgramRules, RuleProgram
from ferrule.runtime.policy.records import Condition, PolicyFile, PolicyRule, PolicySet, ValuePatterns
from ferrule.runtime.policy.ruling import RulingContext
from ferrule.runtime.policy.view import ToolView
from tests.runtime.policy.samples import ROOT, caller, entry, tool

BASE = PathBase(ROOT, "/home/ada")
TOOL = tool("work", tool_kind="shell_command", schema={"properties": {"place": {"type": "string", "format": "uri"}}})
VIEW = ToolView(TOOL)


class GrumpyText(str):
    """A text that raises when it is looked at."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare me")

    __hash__ = str.__hash__

    def startswith(self, *_: Any) -> bool:
        raise RuntimeError("do not look at me")


class Grade(IntEnum):
    """A number that is no plain one."""

    ONE = 1


class Deep(Enum):
    """Stands for a value that is nested more deeply than a report of a failed test could show."""

    LISTS = auto()
    TABLES = auto()

    def grow(self, depth: int = 3000) -> Any:
        value: Any = "/etc/x" if self is Deep.LISTS else {"path": "/etc/x"}
        for _ in range(depth):
            value = [value] if self is Deep.LISTS else {"a": value}
        return value


def grow(value: Any) -> Any:
    """The value, with what stands for deep ones replaced."""
    match value:
        case Deep():
            return value.grow()
        case list():
            return [grow(member) for member in value]
        case dict():
            return {key: grow(member) for key, member in value.items()}
    return value


NUMBERS = [
    0,
    1,
    1.0,
    -1,
    2,
    2.5,
    -0.0,
    2**53,
    2**53 + 1,
    float(2**53),
    10**400,
    -(10**400),
    1e308,
    math.inf,
    -math.inf,
    math.nan,
]
TEXTS = [
    "",
    "1",
    "a",
    "ab",
    "abc",
    "abcd",
    "A",
    "é",
    "e\u0301",
    "É",
    "true",
    "a\ud800",
    "İ",
    "ß",
    "order-1",
    "order-12",
    "a\nb",
    "x" * 600,
]
PATHS = [
    "/srv/1/x", "/SRV/1", "/srv/1", "/srv/11/x", "src/a/.env", ".env", "src/../etc/passwd", "/etc/passwd", "~/x", "~bob/x",
    "$HOME/x", "/data/user-12", "/data/x.CSV", "/data/x.csv", "file:///etc/passwd", "file://far/etc", "%2fetc%2fx", "/", "",
    "C:\\etc\\x", "/a/b]c/d/e", "/é", "/e\u0301", "a" * 9000, "/a\x00b", "/etc/\ud800", "src",
]  # fmt: skip
COMMANDS = [
    "git push origin", "git", "GIT push", "/usr/bin/git push", "sudo git push", "sh -c 'git push'", "git $X", "$X push",
    "git; rm -rf /",
    "echo 'x", "git pushx", "rm -r x", "", "ls " * 3000, "X=1 git push", "git push > f", "time git push", "''",
]  # fmt: skip
URLS = [
    "https://a.test/v1/x", "https://A.test./v1", "http://a.test:81/v1/x", "https://b.a.test/v1", "https://b.a.test", "a.test/v1",
    "https://user@a.test/v1", "https://a.test\\v1", "http://127.1/", "http://2130706433", "http://[::1]/x", "https://é.test/x",
    "https://a.test/%2e%2e/v1", "https://", "https://a.test/" + "x" * 9000, "FILE:///etc/passwd", "https://a.test/v1/../v2",
]  # fmt: skip
PATTERNS: dict[str, list[str]] = {
    "path": [
        "/srv/1/**", "/srv/1", "/srv/*/x", "src/**", "**/.env", "**/*.csv", "/etc/*", "/ETC/**", "/data/user-1*", "/data/*.csv",
        "~", "/",
        "**", "/**", "/srv/[12]/x", "/a/b]c/d/**", "/É", "src/**/a/**/.env", "src/../etc/*", "**/x", "/a/b]c/*", "*", "src",
    ],
    "command": ["git push *", "git", "git push", "git pu*", "GIT push", "* push", "*", "rm *", "gi?", "git * origin"],
    "url": [
        "https://a.test/v1/**", "a.test", "*.a.test", "*.a.test/v1", "http://*", "A.test./v1/*", "a.test:81/**", "https://[::1]/**",
        "é.test",
        "127.0.0.1", "a.*/v1", "*.test", "a.test/", "a.test/*/x", "[ab].test", "*", "a.test/**/x",
    ],
    "resource": ["order-1", "order-1*", "order-*", "*-12", "*", "1*", "T*", "[ab]*", "a?", "a]b", "*]b", "é"],
}  # fmt: skip
REGEXES = [
    "a",
    "ab?",
    "ab*c",
    "order-[0-9]+",
    "a|b",
    "(?i)A",
    "",
    ".*",
    "a.*",
    "ab{0}",
    "abc",
    "order-1",
    "(a|b)c",
    "é+",
    "x+",
    "(?x)a b",
    "a\\.b",
]

loose_text = st.text("ab/*?[].-~ é$1", max_size=6)
numbers = st.sampled_from(NUMBERS) | st.integers(-3, 3) | st.floats()
texts = st.sampled_from(TEXTS) | loose_text
scalars = numbers | texts | st.booleans()
odd = st.sampled_from([GrumpyText("a"), GrumpyText("order-1"), Grade.ONE, Decimal(1), b"a", (1,), *Deep])
plain = st.recursive(
    scalars | st.none() | st.sampled_from([*PATHS, *COMMANDS, *URLS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "path"]), inner, max_size=2),
    max_leaves=4,
)
values = st.one_of(scalars, plain, plain, odd)
NAMES = ["a", "b", "c.a", "c.b", "path", "file", "place", "command", "args", "resource_id", "c.path"]


def kinds(*of: list[str]) -> st.SearchStrategy[Any]:
    return st.one_of(*(st.sampled_from(each) | st.lists(st.sampled_from(each), max_size=3) for each in of), values)


arguments = st.fixed_dictionaries(
    {},
    optional={
        "a": values,
        "b": values,
        "c": values | st.dictionaries(st.sampled_from(["a", "b", "path"]), values, max_size=3),
        "path": kinds(PATHS),
        "file": kinds(PATHS),
        "place": kinds(URLS),
        "command": kinds(COMMANDS),
        "args": values,
        "resource_id": kinds(TEXTS),
    },
)


def operand(operator: str) -> st.SearchStrategy[Any]:
    match operator:
        case "above" | "below" | "at_least" | "at_most":
            return numbers
        case "in" | "not_in":
            return st.lists(scalars | st.sampled_from([{"a": 1}, [1], Deep.LISTS]), min_size=1, max_size=3)
        case "contains" | "starts_with":
            return texts
        case "matches":
            return st.sampled_from(REGEXES)
        case "present":
            return st.booleans()
    return scalars | st.sampled_from([None, {"a": [1]}, {"a": True}, *Deep, Decimal(1)])


def conditions(names: list[str]) -> st.SearchStrategy[Condition]:
    return st.sampled_from(list(OPERATORS)).flatmap(
        lambda operator: st.builds(
            lambda name, wanted: Condition(tuple(name.split(".")), operator, wanted),
            st.sampled_from(names),
            operand(operator),
        )
    )


def is_usable(kind: str, pattern: str) -> bool:
    if kind != "command":
        return find_glob_defect(pattern) is None
    try:
        return all(find_glob_defect(word) is None for word in split_pattern(pattern))
    except ValueError:
        return False


def list_wanted(kind: str) -> st.SearchStrategy[ValuePatterns | None]:
    patterns = st.sampled_from(PATTERNS[kind]) | loose_text.filter(lambda text: is_usable(kind, text))
    fields = st.just(()) | st.lists(st.sampled_from(NAMES), min_size=1, max_size=2).map(tuple)
    return st.builds(ValuePatterns, st.lists(patterns, min_size=1, max_size=3).map(tuple), fields)


decisions: st.SearchStrategy[Behavior] = st.sampled_from(["allow", "ask", "deny", "passthrough"])


def rules_about(kind: str) -> st.SearchStrategy[PolicyRule]:
    """Rules about one kind of values, or about two arguments, so that several of them meet the same value."""
    matchers: st.SearchStrategy[dict[str, Any]]
    if kind == "when":
        matchers = st.fixed_dictionaries({"when": st.lists(conditions(["a", "b"]), min_size=1, max_size=3).map(tuple)})
    else:
        when = st.just(()) | st.lists(conditions(["a", "b"]), min_size=1, max_size=1).map(tuple)
        parts: dict[str, st.SearchStrategy[Any]] = {kind: list_wanted(kind), "when": when}
        matchers = st.fixed_dictionaries(parts)
    return st.builds(
        lambda decision, fields: PolicyRule(
            rule_id="r", decision=decision, source="project_settings", file="p.toml", **fields
        ),
        decisions,
        matchers,
    )


SAMPLES = {
    "path": ("path", PATHS),
    "command": ("command", COMMANDS),
    "url": ("place", URLS),
    "resource": ("resource_id", TEXTS),
}


def calls_about(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Calls that have what such rules look at, mostly plain."""
    usual = st.one_of(scalars, scalars, scalars, st.lists(scalars, max_size=3), values)
    if kind == "when":
        return st.fixed_dictionaries({"a": usual, "b": usual})
    name, samples = SAMPLES[kind]
    return st.fixed_dictionaries({name: kinds(samples) | loose_text}, optional={"a": usual, "b": usual})


KINDS_AND_CONDITIONS = ["when", *PATTERNS]
rules_and_calls = st.sampled_from(KINDS_AND_CONDITIONS).flatmap(
    lambda kind: st.tuples(
        st.lists(rules_about(kind), min_size=1, max_size=8), st.lists(calls_about(kind), min_size=1, max_size=4)
    )
)
anything = st.tuples(
    st.lists(st.sampled_from(KINDS_AND_CONDITIONS).flatmap(rules_about), min_size=1, max_size=10),
    st.lists(arguments, min_size=1, max_size=3),
)
FILLING = [
    PolicyRule(
        rule_id="r",
        decision="deny",
        source="project_settings",
        file="p.toml",
        when=(Condition(("filling",), "equals", number),),
    )
    for number in range(40)
]
"""Rules that fit nothing: an index that finds most of its rules leaves none out, which would hide its mistakes."""


def compile_all(written: list[PolicyRule]) -> tuple[CompiledRule, ...]:
    grown = (
        replace(
            rule,
            rule_id=f"r{number}",
            when=tuple(replace(condition, operand=grow(condition.operand)) for condition in rule.when),
        )
        for number, rule in enumerate(written)
    )
    return tuple(compile_rule(rule, VIEW, BASE) for rule in grown)


def decide(ask: Callable[[JudgedCall], Any], judged: JudgedCall) -> Any:
    """The answer; or the name of the failure."""
    try:
        return ask(judged)
    except Exception as error:
        return type(error).__name__


def program(looking: tuple[CompiledRule, ...], few: int) -> RuleProgram:
    frame = RulingContext("work", (), frozenset({"default"}), True, (), {}, 60, {})
    rules = ProgramRules((), ArgumentIndex(looking, VIEW, BASE, few))
    return RuleProgram(VIEW, frame, rules, ClassifierPanel(entry(TOOL), (), {}), None)


@settings(max_examples=200, deadline=None)
@given(rules_and_calls | anything)
def test_rulings_and_failures_are_the_same_with_and_without_an_index(
    case: tuple[list[PolicyRule], list[dict[str, Any]]],
) -> None:
    written, calls = [*case[0], *FILLING], case[1]
    rules = compile_all(written)
    index, indexed, scanned = ArgumentIndex(rules, VIEW, BASE, few=0), program(rules, 0), program(rules, len(rules))
    for call in calls:
        judged = JudgedCall(grow(call), TOOL.facts, 0)
        fitting = decide(lambda judged: [rule for rule in rules if rule.fits(judged)], judged)
        assert (
            decide(lambda judged: [rule for rule in index.find_rules(judged) if rule.fits(judged)], judged) == fitting
        )
        assert decide(indexed.decide, judged) == decide(scanned.decide, judged)
        assert decide(indexed.early_deny, judged) == decide(scanned.early_deny, judged)


def test_rules_are_narrowed_by_what_fewest_of_them_want() -> None:
    """Every rule wants the same action, so an index by action would leave nothing out."""
    made = index_of(*({"action": "pay", "account": number} for number in range(100)))
    assert candidates(made, action="pay", account=7) == [7]
    assert candidates(made, action="pay") == []


@pytest.mark.parametrize(
    ("conditions", "call", "expected"),
    [
        ([{"a": number} for number in range(50)], {"a": 7}, [7]),
        ([{"a": number} for number in range(50)], {"a": 7.0}, [7]),
        ([{"a": number} for number in range(50)], {"a": True}, []),
        ([{"a": {"in": [number, f"t{number}"]}} for number in range(50)], {"a": ["t7", 9]}, [7, 9]),
        ([{"c.a": {"equals": f"é{number}"}} for number in range(50)], {"c": [{"a": "é7"}, {"b": 1}]}, [7]),
        ([{"a": {"starts_with": f"team-{number}/"}} for number in range(50)], {"a": "team-7/x"}, [7]),
        ([{"a": {"above": number}} for number in range(50)], {"a": 2.5}, [0, 1, 2]),
        ([{"a": {"below": number}} for number in range(50)], {"a": 47.5}, [48, 49]),
        ([{"a": {"above": number, "below": number + 1}} for number in range(50)], {"a": 7.5}, [7]),
        ([{"a": {"contains": f"secret-{number:02}"}} for number in range(50)], {"a": "the secret-07 of"}, [7]),
        ([{"a": {"matches": f"order-{number:02}[a-z]"}} for number in range(50)], {"a": "order-07x"}, [7]),
        ([{"a": number} for number in range(50)], {}, []),
    ],
)
def test_a_call_meets_only_the_rules_that_may_fit(
    conditions: list[Any], call: dict[str, Any], expected: list[int]
) -> None:
    assert candidates(index_of(*conditions), **call) == expected


@pytest.mark.parametrize(
    ("kind", "pattern", "call", "expected"),
    [
        ("path", "/srv/{:02}/**", {"path": "/SRV/x/../07/a"}, [7]),
        ("path", "/data/user-{:02}*", {"path": "/data/user-07.txt"}, [7]),
        ("path", "**/{:02}.pem", {"path": "keys/07.pem"}, [7]),
        ("path", "src/{:02}/*.py", {"path": "src/07/a.py"}, [7]),
        ("resource", "order/{:02}/*", {"resource_id": "order/07/x"}, [7]),
        ("resource", "*-{:02}", {"resource_id": "x-07"}, [7]),
        ("url", "https://a.test/v1/{:02}/**", {"place": "https://A.test/v1/07/x"}, [7]),
        ("url", "*.team-{:02}.test", {"place": "https://x.team-07.test/"}, [7]),
        ("command", "git push r{:02} *", {"command": "/usr/bin/GIT push r07 main; ls"}, [7]),
    ],
)
def test_globs_are_found_by_what_stands_before_or_behind_their_wildcards(
    kind: str, pattern: str, call: dict[str, Any], expected: list[int]
) -> None:
    made = index_from([{kind: ValuePatterns((pattern.format(number),))} for number in range(50)])
    assert candidates(made, **call) == expected


@pytest.mark.parametrize(
    "call",
    [
        {"command": "sudo git push r07"},
        {"command": "git push $X"},
        {"command": "git 'push"},
        {"command": "sh -c 'git push'"},
    ],
)
def test_a_line_that_hides_its_command_is_tested_against_every_rule(call: dict[str, Any]) -> None:
    made = index_from([{"command": ValuePatterns((f"git push r{number:02}",))} for number in range(50)])
    assert candidates(made, **call) == list(range(50))


def test_a_value_that_cannot_be_judged_is_tested_against_every_rule() -> None:
    made = index_of(*({"a": {"above": number}} for number in range(50)))
    for value in ("500", True, math.nan, [1, 2], {"x": 1}, Decimal(7)):
        assert candidates(made, a=value) == list(range(50))


def test_rules_that_cannot_be_filed_are_tested_for_every_call() -> None:
    made = index_of(
        *({"a": number} for number in range(50)),
        {"a": {"not": 1}},
        {"b": {"matches": ".*x"}},
        {"b": {"present": False}},
    )
    assert candidates(made, a=7) == [7, 50, 51, 52]


def test_a_rule_that_would_fail_before_it_misses_still_fails() -> None:
    """The engine of regular expressions takes no half of a surrogate pair; the index must not hide that."""
    made = index_of(*({"b": {"matches": "x.*"}, "a": number} for number in range(50)))
    assert candidates(made, a=7, b="xé") == [7]
    judged = JudgedCall({"a": -1, "b": "x\ud800"}, TOOL.facts, 0)
    assert len(made.find_rules(judged)) == 50
    with pytest.raises(UnicodeEncodeError):
        made.find_rules(judged)[0].fits(judged)


def test_a_comparison_that_exceeds_the_stack_is_not_hidden_by_a_later_miss() -> None:
    deep = Deep.LISTS.grow()
    rules = [{"when": (Condition(("b",), "equals", deep), Condition(("a",), "equals", n))} for n in range(50)]
    made = index_from(rules)
    judged = JudgedCall({"a": -1, "b": [Deep.LISTS.grow()]}, TOOL.facts, 0)
    with pytest.raises(RecursionError):
        [rule for rule in made.find_rules(judged) if rule.fits(judged)]


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("order-1?", "order-"),
        ("order-1*", "order-"),
        ("order-1{0}", "order-"),
        ("x|order-1", "x"),
        ("(?i)ORDER", "order"),
    ],
)
def test_a_regular_expression_is_found_by_what_all_its_texts_begin_with(pattern: str, value: str) -> None:
    made = index_of(*({"a": {"matches": f"none-{number}"}} for number in range(50)), {"a": {"matches": pattern}})
    assert candidates(made, a=value) == [50]


def test_few_rules_are_not_looked_up() -> None:
    made = index_of({"a": 1}, {"a": 2}, {"a": 3})
    assert made.find_rules(JudgedCall({}, TOOL.facts, 0)) is made.rules


def test_callers_that_the_same_rules_concern_share_an_index() -> None:
    rules = tuple(written(rule_id=f"r{number}", when=(Condition(("a",), "equals", number),)) for number in range(20))
    of_eve = written(rule_id="eve", principal=("eve",), when=(Condition(("a",), "equals", 1),))
    file = PolicyFile(source="policy_settings", name="p.toml", digest="d", rules=(*rules, of_eve))
    engine, called = make_engine(PolicySet(files=(file,), root=ROOT)), entry(TOOL, digest="d")
    compile_counted = Mock(side_effect=compile_rule)
    with patch("ferrule.runtime.policy.engine.compile_rule", compile_counted):
        programs = [engine.program(called, caller(principal=name)) for name in ("ada", "bob", "eve")]
    assert compile_counted.call_count == 20 + 21
    judged = JudgedCall({"a": 1}, TOOL.facts, 0)
    assert [program.early_deny(judged).rule_refs for program in programs] == [("r1",), ("r1",), ("r1", "eve")]  # type: ignore[union-attr]  # each denies


def test_rules_are_found_by_the_names_of_tools_in_their_order() -> None:
    made = RuleToolIndex((written(tool=("a", "b")), written(tool=("b*",)), written(), written(tool=("c",))))
    assert [rule.tool for rule in made.find_rules(("a", "shop.a"))] == [("a", "b"), ("b*",), ()]
    assert [rule.tool for rule in made.find_rules(("x",))] == [("b*",), ()]


def test_a_ruling_of_many_rules_is_that_of_the_rule_that_fits() -> None:
    many = tuple(written(rule_id=f"r{number}", when=(Condition(("a",), "equals", number),)) for number in range(500))
    file = PolicyFile(source="policy_settings", name="p.toml", digest="d", rules=many)
    program = make_engine(PolicySet(files=(file,), root=ROOT)).program(entry(TOOL), caller())
    ruling = program.decide(JudgedCall({"a": 321}, TOOL.facts, 0))
    assert isinstance(ruling, Ruling)
    assert (ruling.behavior, ruling.rule_refs) == ("deny", ("r321",))
    assert program.early_deny(JudgedCall({"a": 321}, TOOL.facts, 0)) == ruling
    assert len(program.conditional_rules) == 500


def written(**fields: Any) -> PolicyRule:
    return PolicyRule(**{"rule_id": "r", "decision": "deny", "source": "policy_settings", "file": "p.toml", **fields})


def index_of(*when: dict[str, Any]) -> ArgumentIndex:
    """An index of denies with these conditions."""
    return index_from(
        [
            {
                "when": tuple(
                    Condition(tuple(name.split(".")), operator, each)
                    for name, wanted in condition.items()
                    for operator, each in (wanted if isinstance(wanted, dict) else {"equals": wanted}).items()
                )
            }
            for condition in when
        ]
    )


def index_from(matchers: list[dict[str, Any]]) -> ArgumentIndex:
    return ArgumentIndex(tuple(compile_rule(written(**each), VIEW, BASE) for each in matchers), VIEW, BASE)


def candidates(made: ArgumentIndex, **call: Any) -> list[int]:
    found = made.find_rules(JudgedCall(call, TOOL.facts, 0))
    numbers = {id(rule): number for number, rule in enumerate(made.rules)}
    return [numbers[id(rule)] for rule in found]


def test_the_samples_are_usable() -> None:
    for pattern in REGEXES:
        compile_regex(pattern)
    assert all(is_usable(kind, pattern) for kind, patterns in PATTERNS.items() for pattern in patterns)

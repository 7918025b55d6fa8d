"""Rules in plain words, in the order they win."""

from __future__ import annotations

from ferrule.runtime.policy.read import read_text
from ferrule.runtime.policy.text import describe_conditions, describe_demands, sort_by_precedence

TEXT = """
[[rules]]
id = "a"
decision = "allow"

[[rules]]
id = "b"
decision = "deny"
tool = ["pay", "shop.*"]
namespace = "shop"
risk = ["high", "critical"]
facts = { is_destructive = true, is_open_world = false }
path = { match = "/etc/**", in = "file" }
url = "https://*.example.com/**"
when = { amount = { above = 10, at_most = 20 }, "customer.country" = { in = ["DE", "FR"] }, note = { present = false } }
principal = ["ada", "group:finance"]
agent = "bot-*"
channel = "http"

[[rules]]
id = "c"
decision = "ask"
tool_kind = "shell_command"
command = "rm *"
approvers = ["group:finance", "bea"]
people = 2
not_requester = true
expires = "90m"
"""


def test_every_matcher_has_its_words() -> None:
    read = read_text(TEXT, "policy_settings", "policy.toml")
    assert not read.findings
    rules = {rule.rule_id: rule for rule in read.file.rules}
    assert describe_conditions(rules["a"]) == []
    assert describe_conditions(rules["b"]) == [
        "the tool is pay or any shop.*",
        "its namespace is shop",
        "its risk is high or critical",
        "it may destroy something",
        "it reaches no outside system",
        "a path in `file` fits /etc/**",
        "an address fits https://*.example.com/**",
        "`amount` is above 10",
        "`amount` is at most 20",
        "`customer.country` is one of DE, FR",
        "`note` is not given",
        "it is for ada or the group finance",
        "the agent is any bot-*",
        "the channel is http",
    ]
    assert describe_conditions(rules["c"]) == ["its kind is shell_command", "a command fits rm *"]
    assert describe_demands(rules["c"].demand) == [
        "answered by the group finance or bea",
        "2 people have to agree",
        "not by whoever it is made for",
        "within 90 min",
    ]


def test_deny_comes_before_ask_before_allow_whatever_the_source() -> None:
    ours = read_text(TEXT, "policy_settings", "policy.toml").file.rules
    local = read_text('[[rules]]\nid = "d"\ndecision = "deny"\n', "local_settings", "local.toml").file.rules
    assert [rule.rule_id for rule in sort_by_precedence((*local, *ours))] == ["b", "d", "c", "a"]

"""The eight sources, joined; anything that cannot be used refuses all of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ferrule.errors import PolicyError
from ferrule.runtime.policy.engine import make_engine
from ferrule.runtime.policy.load import LOCAL_FILE, load_policy
from ferrule.runtime.policy.ruling import parse_duration
from tests.runtime.policy.samples import decide, rule, write


def fill(root: Path) -> dict[str, str]:
    """A file of each source, and the environment they are found in."""
    write(root, "policy.toml", rule("allow", tool="a", id="reviewed"))
    write(root, LOCAL_FILE, rule("allow", tool="b", id="accepted"))
    write(root, "home/.config/ferrule/policy.toml", rule("allow", tool="c", id="mine"))
    flagged = write(root, "flag.toml", rule("allow", tool="d", id="flagged"))
    return {"HOME": str(root / "home"), "FERRULE_POLICY": str(flagged)}


def test_at_134_every_source_is_read_and_kept_apart(tmp_path: Path) -> None:
    """AT-134: rules keep their origin, file and line."""
    env = fill(tmp_path)
    write(tmp_path, "ferrule.toml", '[policy]\nmode = "default"\n\n[[policy.rules]]\nid = "ours"\ndecision = "ask"\n')
    table = tomllib.loads((tmp_path / "ferrule.toml").read_text())["policy"]
    extra = [{"decision": "deny", "tool": "e", "id": "given"}]
    made = load_policy(tmp_path, table, env, extra={"cli_arg": extra, "command": extra}, expires_seconds=60)
    rules = [rule for file in made.files for rule in file.rules]
    assert [(rule.source, rule.rule_id, rule.place) for rule in rules] == [
        ("policy_settings", "reviewed", "policy.toml:1"),
        ("project_settings", "ours", "ferrule.toml:4"),
        ("local_settings", "accepted", f"{LOCAL_FILE}:1"),
        ("user_settings", "mine", "~/.config/ferrule/policy.toml:1"),
        ("flag_settings", "flagged", f"{tmp_path / 'flag.toml'}:1"),
        ("cli_arg", "given", "cli_arg"),
        ("command", "given", "command"),
    ]
    assert (made.root, made.home, made.expires_seconds) == (str(tmp_path), str(tmp_path / "home"), 60)


def test_personal_files_can_be_left_out(tmp_path: Path) -> None:
    sources = [file.source for file in load_policy(tmp_path, {}, fill(tmp_path), is_personal=False).files]
    assert sources == ["policy_settings", "local_settings"]


def test_without_any_file_there_is_an_empty_policy(tmp_path: Path) -> None:
    assert load_policy(tmp_path, {}, {}).files == ()


def test_the_settings_win_over_a_file_that_changed_meanwhile(tmp_path: Path) -> None:
    write(tmp_path, "ferrule.toml", '[policy]\nmode = "trusted"\n')
    (file,) = load_policy(tmp_path, {"mode": "locked"}, {}).files
    assert file.mode == "locked"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("policy.toml", "mode = 'x'\n"),
        ("policy.toml", "[[rules]\n"),
        ("policy.toml", "\n" + rule("perhaps")),
        (LOCAL_FILE, "[groups]\na = ['b']\n"),
        (LOCAL_FILE, "[[classifiers]]\nname = 'x'\n"),
        ("home/.config/ferrule/policy.toml", rule("allow", tol="x")),
        ("flag.toml", "rules = 3\n"),
    ],
)
def test_a_policy_that_cannot_be_used_refuses_everything(tmp_path: Path, name: str, text: str) -> None:
    env = fill(tmp_path)
    write(tmp_path, name, text)
    with pytest.raises(PolicyError, match="no call is allowed until"):
        load_policy(tmp_path, {}, env)


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"other\.toml"):
        load_policy(tmp_path, {"file": "other.toml"}, {})
    with pytest.raises(PolicyError, match=r"none\.toml"):
        load_policy(tmp_path, {}, {"FERRULE_POLICY": str(tmp_path / "none.toml")})
    (tmp_path / "policy.toml").mkdir()
    with pytest.raises(PolicyError, match=r"policy\.toml cannot be read"):
        load_policy(tmp_path, {}, {})


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="not UTF-8"):
        load_policy(tmp_path, {}, {})


def test_a_shadow_stands_in_for_the_reviewers_file(tmp_path: Path) -> None:
    write(tmp_path, "policy.toml", rule("allow", tool="refund"))
    write(tmp_path, LOCAL_FILE, rule("allow", tool="x", id="kept"))
    write(tmp_path, "next.toml", rule("deny", tool="refund", id="new"))
    made = load_policy(tmp_path, {"shadow": "next.toml"}, {})
    assert made.shadow is not None
    assert [rule.rule_id for file in made.shadow.files for rule in file.rules] == ["new", "kept"]
    ruling = decide(make_engine(made))
    assert (ruling.behavior, ruling.shadow and ruling.shadow.behavior) == ("allow", "deny")


@pytest.mark.parametrize("text", ["mode = 'x'", "[[", None])
def test_a_shadow_that_cannot_be_used_refuses_nothing(tmp_path: Path, text: str | None) -> None:
    write(tmp_path, "policy.toml", rule("allow", tool="refund"))
    if text is not None:
        write(tmp_path, "next.toml", text)
    ruling = decide(make_engine(load_policy(tmp_path, {"shadow": "next.toml"}, {})))
    assert (ruling.behavior, ruling.shadow and ruling.shadow.behavior) == ("allow", "deny")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("4h", 14400), ("1d 12h", 129600), ("2w", 1209600), ("0m", None), ("", None), ("4", None),
     ("four hours", None), ("4 hours", None), ("-4h", None), ("9999999w", None)],
)  # fmt: skip
def test_durations(text: str, seconds: int | None) -> None:
    assert parse_duration(text) == seconds

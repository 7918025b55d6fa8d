"""`ferrule pending`, `approve`, `reject`, `settle`, `disable`, `enable` and `token`, on a workspace with real calls."""

from __future__ import annotations

import getpass
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ferrule.infra.network.post import is_authentic
from tests.cli.run import Ran, ferrule
from tests.runtime.notifiers.receiver import running_receiver

TOOLS = '''
import os
from pathlib import Path

from ferrule.runtime.functions import tool

PAID = Path(__file__).with_name("paid.txt")


@tool(sensitive=("card",))
def refund(order: str, amount: int, card: str = "4111-1111") -> str:
    """Pays money back to a customer's card."""
    with PAID.open("a") as file:
        file.write(f"{order} {amount} {card}\\n")
    if order == "crash":
        os._exit(9)
    return f"paid {amount}"


@tool
def tell(order: str) -> str:
    """Tells a customer about an order."""
    return "told"
'''
POLICY = """
[groups]
finance = ["ada", "bob"]

[[rules]]
id = "refunds"
decision = "ask"
tool = "refund"
reason = "refunds need a person"

[[rules]]
id = "big-refunds"
decision = "ask"
tool = "refund"
when = { amount = { above = 100 } }
people = 2
approvers = ["group:finance"]

[[rules]]
id = "the-rest"
decision = "allow"
tool = "tell"
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A workspace whose refunds wait for a person."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / "ferrule.toml").write_text('namespace = "shop"\n\n[functions]\nmodules = ["refunds.py"]\n')
    (root / "refunds.py").write_text(TOOLS)
    (root / "policy.toml").write_text(POLICY)
    return root


def call(shop: Path, **arguments: Any) -> str:
    """Make a call that waits; gives its id."""
    ran = ferrule("call", "refund", "--input", json.dumps(arguments), "--json", folder=shop)
    assert ran.code == 3, ran
    invocation: str = json.loads(ran.out)["invocation_id"]
    return invocation


def paid(shop: Path) -> list[str]:
    file = shop / "paid.txt"
    return file.read_text().splitlines() if file.exists() else []


def token(shop: Path, person: str, *options: str) -> dict[str, str]:
    """A token of a person, as environment."""
    ran = ferrule("token", "add", person, "--scope", "approve", *options, folder=shop)
    assert ran.code == 0, ran
    return {"FERRULE_TOKEN": ran.out.strip()}


def listed(shop: Path) -> list[dict[str, Any]]:
    ran = ferrule("pending", "--json", folder=shop)
    assert ran.code == 0, ran
    items: list[dict[str, Any]] = json.loads(ran.out)
    return items


def refused(ran: Ran, message: str) -> None:
    assert ran.code == 2, ran
    assert message in ran.err


def test_whoever_approves_for_others_to_run_learns_that_nothing_will(shop: Path) -> None:
    made = json.loads(ferrule("key", "add", "bot", "--scope", "call", "--json", folder=shop).out)
    ran = ferrule(
        "call", "refund", "--input", '{"order":"A1","amount":5}', "--json",
        folder=shop, environment={"FERRULE_TOKEN": made["secret"]},
    )  # fmt: skip
    invocation = json.loads(ran.out)["invocation_id"]
    assert ferrule("key", "revoke", made["id"], folder=shop).code == 0
    done = ferrule("approve", invocation, "--no-wait", folder=shop)
    assert done.code == 0, done
    assert f"it does not go on: the key {made['id']} of bot that it came with was revoked at" in done.out
    assert "as soon as" not in done.out


def test_a_call_waits_is_shown_in_full_and_runs_when_it_is_approved(shop: Path) -> None:
    """AT-100, AT-128: parked in one process, shown in a second, approved and run in a third, under one id."""
    invocation = call(shop, order="A1", amount=5, card="5500-0000")
    assert paid(shop) == []
    shown = ferrule("pending", folder=shop).out
    for text in (
        invocation,
        '"amount": 5',
        '"card": "[REDACTED]"',
        "refunds need a person",
        "expires   in 23 h 59 min",
    ):
        assert text in shown, shown
    assert "5500" not in shown
    done = ferrule("approve", invocation, "--reason", "called back", folder=shop)
    assert done.code == 0, done
    assert done.out == f"approved {invocation}\nthe call succeeded\n  paid 5\n"
    assert paid(shop) == ["A1 5 5500-0000"]
    assert ferrule("pending", folder=shop).out == "nothing waits for a person\n"
    refused(ferrule("approve", invocation, folder=shop), "approved it, and it ended as succeeded")
    assert paid(shop) == ["A1 5 5500-0000"]


def test_an_edited_input_runs_and_a_masked_value_stays_what_it_was(shop: Path) -> None:
    """AT-139, by option, by file, by standard input and in an editor."""
    edits: list[tuple[list[str], str, dict[str, str]]] = [
        (["--input", '{"order":"A1","amount":1,"card":"[REDACTED]"}'], "", {}),
        (["--edit", "edited.json"], "", {}),
        (["--edit", "-"], '{"order":"A1","amount":3,"card":"[REDACTED]"}', {}),
        (["--edit"], "", {"EDITOR": f"{sys.executable} editor.py", "VISUAL": ""}),
    ]
    (shop / "edited.json").write_text('{"order":"A1","amount":2,"card":"[REDACTED]"}')
    (shop / "editor.py").write_text(
        "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.replace('5,', '40,'))\n"
        "import os; s = os.stat(p); os.utime(p, (s.st_atime, s.st_mtime + 5))\n"
    )
    for options, stdin, environment in edits:
        invocation = call(shop, order="A1", amount=5, card="5500-0000")
        clean = {name: value for name, value in environment.items() if value}
        done = ferrule("approve", invocation, *options, folder=shop, stdin=stdin, environment=clean)
        assert done.code == 0, done
    assert paid(shop) == [f"A1 {amount} 5500-0000" for amount in (1, 2, 3, 40)]


def test_an_edit_that_does_not_fit_is_refused_and_the_call_still_waits(shop: Path) -> None:
    invocation = call(shop, order="A1", amount=5)
    refused(ferrule("approve", invocation, "--input", '{"order":"A1","amount":"lots"}', folder=shop), "does not fit")
    refused(ferrule("approve", invocation, "--input", "{", folder=shop), "not JSON")
    refused(ferrule("approve", invocation, "--edit", "nowhere.json", folder=shop), "nowhere.json")
    refused(ferrule("approve", invocation, "--input", "{}", "--edit", "-", folder=shop), "one of them")
    assert [item["invocation_id"] for item in listed(shop)] == [invocation]
    assert paid(shop) == []


def test_a_rejected_call_never_runs_and_its_id_may_be_cut_short(shop: Path) -> None:
    """AT-131."""
    invocation = call(shop, order="A1", amount=5)
    assert ferrule("reject", invocation[:12], folder=shop).code == 2, "a no needs a reason"
    done = ferrule("reject", invocation[:-3], "--reason", "wrong order", folder=shop)
    assert (done.code, done.out) == (0, f"rejected {invocation}\n")
    refused(ferrule("approve", invocation, folder=shop), "rejected it")
    assert paid(shop) == []


def test_two_people_of_a_group_approve_each_with_a_token_of_their_own(shop: Path) -> None:
    finance = ("--group", "finance")
    ada, bob, eve = token(shop, "ada", *finance), token(shop, "bob", *finance), token(shop, "eve")
    invocation = call(shop, order="A1", amount=500)
    refused(ferrule("approve", invocation, folder=shop, environment=eve), "group finance")
    refused(ferrule("approve", invocation, folder=shop), "group finance")
    first = ferrule("approve", invocation, folder=shop, environment=ada)
    assert (first.code, first.out) == (3, f"approved {invocation}\n1 more person has to approve it\n")
    refused(ferrule("approve", invocation, folder=shop, environment=ada), "another person")
    assert [answer["by"] for answer in listed(shop)[0]["approvals"]] == ["ada"]
    assert paid(shop) == []
    second = ferrule("approve", invocation, folder=shop, environment=bob)
    assert second.code == 0, second
    assert paid(shop) == ["A1 500 4111-1111"]


def test_the_agents_token_lists_its_own_and_approves_nothing(shop: Path) -> None:
    invocation = call(shop, order="A1", amount=5)
    agent = {"FERRULE_TOKEN": (shop / ".ferrule" / "keys" / "agent.token").read_text().strip()}
    refused(ferrule("approve", invocation, folder=shop, environment=agent), "approve scope")
    refused(ferrule("reject", invocation, "--reason", "x", folder=shop, environment=agent), "approve scope")
    refused(ferrule("disable", "refund", folder=shop, environment=agent), "admin scope")
    refused(ferrule("token", "add", "eve", "--scope", "admin", folder=shop, environment=agent), "admin scope")
    refused(ferrule("approve", invocation, folder=shop, environment={"FERRULE_TOKEN": "frl_x_y"}), "not valid")
    assert paid(shop) == []


def test_only_what_was_seen_is_approved(shop: Path) -> None:
    ada, bob = token(shop, "ada", "--group", "finance"), token(shop, "bob", "--group", "finance")
    invocation = call(shop, order="A1", amount=500)
    seen = listed(shop)[0]["seen"]
    edited = ferrule("approve", invocation, "--input", '{"order":"A1","amount":501,"card":"[REDACTED]"}', folder=shop,
                     environment=ada)  # fmt: skip
    assert edited.code == 3, edited
    refused(ferrule("approve", invocation, "--seen", seen, folder=shop, environment=bob), "changed since you looked")
    refused(ferrule("approve", invocation, "--seen", "xyz", folder=shop, environment=bob), "hexadecimal")


def test_an_approval_without_waiting_is_run_by_whoever_waits(shop: Path) -> None:
    invocation = call(shop, order="A1", amount=5)
    done = ferrule("approve", invocation, "--no-wait", "--json", folder=shop)
    assert done.code == 0, done
    assert json.loads(done.out)["state"] == "approved"
    assert paid(shop) == []


def test_a_disabled_tool_is_refused_at_once_and_its_waiting_calls_end(shop: Path) -> None:
    invocation = call(shop, order="A1", amount=5)
    off = ferrule("disable", "refund", "--reason", "wrong currency", folder=shop)
    assert off.code == 0, off
    assert "1 waiting call ended" in off.out
    refused(ferrule("approve", invocation, folder=shop), "has ended")
    again = ferrule("call", "refund", "--input", '{"order":"A1","amount":5}', folder=shop)
    assert again.code == 1, again
    tool_id, _, story = ferrule("disable", folder=shop).out.strip().partition("  ")
    assert tool_id in off.out
    assert re.fullmatch(rf"off since 20\S+ [\d:.]+ by {re.escape(getpass.getuser())}: wrong currency", story)
    assert ferrule("enable", "refund", folder=shop).out == f"enabled {tool_id}\n"
    assert ferrule("enable", "refund", folder=shop).out == f"{tool_id} was not disabled\n"
    call(shop, order="A1", amount=5)


def test_a_tool_that_is_not_in_the_catalog_can_be_switched_by_its_id(shop: Path) -> None:
    off = ferrule("disable", "refnd", folder=shop)
    assert (off.code, off.out) == (0, "disabled refnd\n")
    assert "no tool 'refnd' in the catalog" in off.err
    assert ferrule("enable", "refnd", folder=shop).out == "enabled refnd\n"


def test_there_is_nothing_to_settle_about_a_call_that_waits_for_approval(shop: Path) -> None:
    invocation = call(shop, order="A1", amount=5)
    refused(ferrule("settle", invocation, "--happened", "--reason", "x", folder=shop), "nothing to settle")
    refused(ferrule("settle", invocation, "--reason", "x", folder=shop), "--did-not-happen")


@pytest.mark.parametrize(
    ("word", "code"), [("--happened", "partial_failure"), ("--did-not-happen", "execution_failed")]
)
def test_a_call_that_died_with_its_process_is_never_run_again_and_settled_by_a_person(
    shop: Path, word: str, code: str
) -> None:
    invocation = call(shop, order="crash", amount=5)
    assert ferrule("approve", invocation, folder=shop).code == 9
    shown = ferrule("pending", folder=shop).out
    assert "not known whether it acted" in shown and "ferrule settle" in shown
    assert '"order": "crash"' in shown, "who settles it has to know what it was called with"
    assert "without an end" in ferrule("explain", invocation, folder=shop).out
    refused(ferrule("approve", invocation, folder=shop), "ferrule settle")
    refused(ferrule("reject", invocation, "--reason", "x", folder=shop), "ferrule settle")
    done = ferrule("settle", invocation, word, "--reason", "looked at the bank", "--json", folder=shop)
    assert done.code == 0, done
    error = json.loads(done.out)["error"]
    assert (error["error_class"], error["error_code"]) == (code, "outcome_settled")
    assert "looked at the bank" in error["message"]
    assert ferrule("pending", folder=shop).out == "nothing waits for a person\n"
    refused(ferrule("settle", invocation, word, "--reason", "again", folder=shop), "has ended")
    assert all(ferrule("explain", invocation, form, folder=shop).code == 0 for form in ("--json", "--events"))
    assert len(paid(shop)) == 1


def test_a_changed_definition_voids_the_approval_and_asks_again(shop: Path) -> None:
    invocation = call(shop, order="A1", amount=5)
    assert ferrule("approve", invocation, "--no-wait", folder=shop).code == 0
    (shop / "refunds.py").write_text(TOOLS.replace("Pays money back", "Pays twice the money back"))
    waited = ferrule("call", "tell", "--input", '{"order": "A1"}', folder=shop)
    assert waited.code == 0, waited
    script = (
        "import asyncio, ferrule.app.opening as a\n"
        "async def main():\n"
        "    async with a.open_app('.', tends=False) as app:\n"
        f"        print((await app.calls.resume({invocation!r})).state)\n"
        "asyncio.run(main())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=shop, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout == "awaiting_approval\n", ran
    assert paid(shop) == []
    (item,) = listed(shop)
    assert (item["invocation_id"], item["approvals"]) == (invocation, [])


def test_a_webhook_tells_of_a_waiting_call_without_its_arguments(shop: Path) -> None:
    with running_receiver(503, 204) as receiver:
        settings = shop / "ferrule.toml"
        settings.write_text(
            settings.read_text()
            + f"""
[network]
allow = ["127.0.0.1"]

[[approval.notify]]
kind = "webhook"
url = "{receiver.url}"
secret_env = "HOOK_SECRET"
"""
        )
        ran = ferrule("call", "refund", "--input", '{"order":"A1","amount":5}', "--json", folder=shop,
                      environment={"HOOK_SECRET": "a secret of some length"})  # fmt: skip
    assert ran.code == 3, ran
    assert len(receiver.got) == 2, f"tried again after a failure: {ran}"
    got = receiver.got[-1]
    assert is_authentic(b"a secret of some length", got.headers["Ferrule-Signature"], got.body, now=int(time.time()))
    notice = json.loads(got.body)
    assert notice["invocation_id"] == json.loads(ran.out)["invocation_id"]
    assert b"A1" not in got.body
    assert len({request.headers["Ferrule-Delivery"] for request in receiver.got}) == 1


def test_a_suggested_rule_is_taken_when_its_owner_accepts_it(shop: Path) -> None:
    """AT-136: until then the next call asks again."""
    (shop / "policy.toml").write_text('mode = "default"\n')
    ada = token(shop, "ada")
    invocation = call(shop, order="A1", amount=5)
    refused(ferrule("approve", invocation, "--accept-rule", "0", folder=shop, environment=ada), "admin scope")
    assert ferrule("approve", invocation, folder=shop).code == 0
    done = ferrule("approve", call(shop, order="A1", amount=6), "--accept-rule", "0", folder=shop)
    assert done.code == 0 and "rule taken" in done.out, done
    again = ferrule("call", "refund", "--input", '{"order":"A1","amount":7}', folder=shop)
    assert (again.code, again.out) == (0, "paid 7\n")


def _started(shop: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ferrule", *arguments]
    return subprocess.Popen(command, cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_of_many_approvals_at_once_one_runs_the_call(shop: Path) -> None:
    invocation = call(shop, order="A1", amount=5)
    processes = [_started(shop, "approve", invocation) for _ in range(6)]
    told = [(*process.communicate(timeout=60), process.returncode) for process in processes]
    assert sorted(code for *_, code in told) == [0, 2, 2, 2, 2, 2], told
    assert all("approved" in err for _, err, code in told if code == 2), told
    assert paid(shop) == ["A1 5 4111-1111"]


def test_watching_shows_a_call_as_soon_as_it_waits_and_ends_quietly(shop: Path) -> None:
    watching = _started(shop, "pending", "--watch")
    assert watching.stdout is not None
    assert watching.stdout.readline() == "nothing waits for a person\n"
    invocation = call(shop, order="A1", amount=5)
    assert watching.stdout.readline().startswith(invocation)
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=60)
    assert (watching.returncode, err) == (0, "\n")


def test_tokens_are_made_listed_and_revoked(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").touch()
    made = ferrule("token", "add", "ada", "--scope", "approve", "--group", "finance", folder=tmp_path)
    assert made.code == 0, made
    secret = made.out.strip()
    shown = ferrule("token", "list", folder=tmp_path)
    assert secret not in shown.out
    (row,) = [line for line in shown.out.splitlines() if "ada" in line]
    assert "approve" in row and "finance" in row and "valid" in row
    number = row.split()[0]
    assert ferrule("token", "revoke", number, folder=tmp_path).out == f"revoked token {number} of ada\n"
    tokens = json.loads(ferrule("token", "list", "--json", folder=tmp_path).out)
    assert [entry["revoked"] is not None for entry in tokens] == [False, False, True]
    assert all("digest" not in entry for entry in tokens)
    refused(ferrule("token", "revoke", number, folder=tmp_path), "already")
    refused(ferrule("token", "add", "eve", "--scope", "everything", folder=tmp_path), "everything")

"""The page of one call: its inputs field by field."""

from __future__ import annotations

from typing import Any

from ferrule.servers.console.calls.invocation import four_inputs
from tests.servers.console.calls.story_samples import story


def test_four_inputs_name_who_changed_what() -> None:
    def change(source: str, ref: str, *fields: str) -> dict[str, Any]:
        return {"source_type": source, "source_ref": ref, "changed_fields": list(fields), "reason": ""}

    views = [
        {"name": "model_input", "value": {"amount": "84", "card": "4111", "to": {"name": "x", "city": "y"}}},
        {"name": "observable_input", "value": {"amount": 84, "card": "[REDACTED]", "to": {"name": "x", "city": "y"}}},
        {
            "name": "call_input",
            "value": {"amount": 72, "card": "[REDACTED]", "to": {"name": "z", "city": "y"}, "n": True},
        },
    ]
    changes = [change("adapter", "lenient", "amount"), change("hook", "notice", "n"), change("hook", "move", "to.name"),
               change("permission_prompt", "mara", "amount")]  # fmt: skip
    rows = {row["field"]: row["cells"] for row in four_inputs(story(inputs=views, mutations=changes))["rows"]}
    assert [cell["text"] for cell in rows["amount"]] == ['"84"', "84", "84", "72"]
    assert (rows["amount"][1]["by"], rows["amount"][1]["is_person"]) == ("read by Ferrule", False)
    assert (rows["amount"][3]["by"], rows["amount"][3]["is_person"]) == ("mara", True)
    assert rows["card"][1]["by"] == "redacted" and rows["card"][3]["is_same"]
    assert (rows["to.name"][3]["by"], rows["to.city"][3]["is_same"]) == ("hook move", True)
    assert rows["n"][0]["is_absent"] and rows["n"][3]["by"] == "hook notice"
    assert four_inputs(story(inputs=[], is_erased=True)) == {
        "rows": [],
        "left": 0,
        "is_changed": False,
        "is_erased": True,
    }

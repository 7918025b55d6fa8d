"""Functions that the settings bind to definitions, and what becomes of a transport then (AML-20)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.errors import BindingError
from ferrule.model.result import Result
from tests.contracts.transports.fake_upstream import aml
from tests.driven import driven

_CODE = '''
import ferrule

def shout(text: str = "") -> dict:
    """Nobody marked this."""
    return {"text": text.upper()}

@ferrule.tool("shout")
def louder(text: str = "") -> dict:
    """Marked, and bound by its mark."""
    return {"text": text + "!"}

class Kit:
    @staticmethod
    def whisper(text: str = "") -> dict:
        """Below another name."""
        return {"text": text.lower()}
'''


def _workspace(root: Path, functions: str, *, with_transport: bool = False) -> Path:
    transport = (
        "  type: rest-api\n  base_url: http://127.0.0.1:1\n  endpoint: GET /x\n  credentials: {scheme: none}"
        if with_transport
        else ""
    )
    text = aml("shout", transport, kind="function")
    text = text if with_transport else text.replace("transport:\n", "")
    guidance = "use_guidance: {when_to_use: [x], when_not_to_use: [y]}\n---\n"
    text = text if "use_guidance" in text else text.removesuffix("---\n") + guidance
    (root / "tools").mkdir()
    (root / "tools/shout.tool.md").write_text(text, encoding="utf-8")
    (root / "code").mkdir()
    (root / "code/kit.py").write_text(_CODE, encoding="utf-8")
    settings = (
        f'namespace = "w"\n[network]\nallow = ["127.0.0.1"]\n[policy]\nmode = "trusted"\n[functions]\n{functions}\n'
    )
    (root / "ferrule.toml").write_text(settings, encoding="utf-8")
    return root


async def _shout(root: Path, **options: Any) -> Result:
    async with ferrule.open(root, **options) as app:
        result = await app.surface().call("shout", {"text": "Hey"})
        assert isinstance(result, Result), result
        return result


@pytest.mark.parametrize(
    ("reference", "text"),
    [("code/kit.py:shout", "HEY"), ("code/kit.py:Kit.whisper", "hey"), ("code/kit.py:louder", "Hey!")],
)
@driven
async def test_the_settings_bind_a_function_to_a_definition(tmp_path: Path, reference: str, text: str) -> None:
    result = await _shout(_workspace(tmp_path, f'bind = {{ shout = "{reference}" }}'))
    assert result.structured_content == {"text": text}


@driven
async def test_a_function_that_is_bound_by_its_mark_too_is_one_function(tmp_path: Path) -> None:
    functions = 'modules = ["code/kit.py"]\nthreads = 2'
    assert (await _shout(_workspace(tmp_path, functions))).structured_content == {"text": "Hey!"}


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("code/kit.py:shoot", "there is no 'shoot'"),
        ("code/kit.py", "module:function"),
        ("code/none.py:shout", "no file"),
        ("no.such.module:shout", "cannot be imported"),
    ],
)
@driven
async def test_a_binding_that_leads_nowhere_is_told_when_the_app_is_opened(
    tmp_path: Path, reference: str, words: str
) -> None:
    with pytest.raises(BindingError, match=words):
        await _shout(_workspace(tmp_path, f'bind = {{ shout = "{reference}" }}'))


@driven
async def test_a_binding_to_a_tool_that_is_not_there_is_told_too(tmp_path: Path) -> None:
    with pytest.raises(BindingError, match="shoot"):
        await _shout(_workspace(tmp_path, 'bind = { shoot = "code/kit.py:shout" }'))


@driven
async def test_a_bound_function_stands_in_for_the_transport(tmp_path: Path) -> None:
    root = _workspace(tmp_path, 'bind = { shout = "code/kit.py:shout" }', with_transport=True)
    assert (await _shout(root)).structured_content == {"text": "HEY"}


@driven
async def test_without_a_bound_function_a_function_tool_uses_its_transport(tmp_path: Path) -> None:
    result = await _shout(_workspace(tmp_path, "", with_transport=True))
    assert result.error is not None and result.error.error_class == "dependency_unavailable"


@driven
async def test_a_function_of_a_file_runs_apart_when_the_settings_say_so(tmp_path: Path) -> None:
    functions = 'bind = { shout = "code/kit.py:shout" }\nisolate = ["shout"]\nprocesses = 1'
    assert (await _shout(_workspace(tmp_path, functions))).structured_content == {"text": "HEY"}

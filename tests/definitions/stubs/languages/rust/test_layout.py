"""What is generated is what rustfmt leaves alone, whatever names and descriptions a definition has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.contracts.language import Injected, Section, Service
from ferrule.definitions.stubs.languages.rust import language
from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from ferrule.definitions.stubs.languages.rust.text import documentation, lines, literal, raw
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.rust.crates import Given, planned, well_formed, write
from tests.definitions.stubs.languages.rust.hostile import TEXTS, tools

_SERVICES = tuple(
    Service(name=name, interface=interface, factory=factory, description=TEXTS[at])
    for at, (name, interface, factory) in enumerate(
        [
            ("shop", "Shop", "NewShop"),
            ("type", "send", "make"),
            (
                "a_service_with_a_rather_long_name",
                "AnInterfaceWithARatherLongNameToo",
                "NewAServiceWithALongNameOfItsOwn",
            ),
        ]
    )
)
_SECTIONS = (
    Section(
        name="reports", settings={"currency": "EUR", "secondsADay": 0.12, "url": "${SHOP_URL}", "n": 3, "on": True}
    ),
    Section(name="Größe", settings={text: [1] for text in TEXTS}),
    Section(name="empty", settings={}),
)
_INJECT = (
    Injected("logger"),
    Injected("config"),
    *(Injected("section", each.name) for each in _SECTIONS),
    *(Injected("service", each.name) for each in _SERVICES),
    Injected("service", "not declared"),
)


def rich_plan_tools() -> list[Given]:
    """Tools that are given everything there is, and one that comes along with Ferrule."""
    schema = {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}
    long = "a tool with a name that is as long as the names of tools may well be here"
    return [
        Given("given", schema, {"type": "object"}, TEXTS[3], _INJECT, title="Given"),
        Given(long, schema, None, TEXTS[4], _INJECT[:2] + _INJECT[-3:]),
        Given("read", schema, None, "Read a file.", builtin="read"),
    ]


def test_support_files_are_formatted() -> None:
    well_formed(Path(language.__file__).parent / "support")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["implementation", "client"])
def test_hostile_tools_are_formatted(tmp_path: Path, kind: str, seed: int) -> None:
    plan = planned(tools(seed, 40), "client" if kind == "client" else "implementation", is_project=True)
    write(LANGUAGE.write(plan).files, tmp_path)
    well_formed(tmp_path)


def test_projects_are_formatted(tmp_path: Path) -> None:
    plan = planned(
        [Given(case.name, case.schema) for case in CASES] + rich_plan_tools(),
        is_project=True,
        services=_SERVICES,
        sections=_SECTIONS,
        description=TEXTS[0],
    )
    write(LANGUAGE.write(plan).files, tmp_path)
    well_formed(tmp_path)


def test_the_same_plan_gives_the_same_files() -> None:
    first, second = (LANGUAGE.write(planned(tools(5, 20), is_project=True)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("text", TEXTS)
def test_text_cannot_leave_its_literal_or_comment(text: str) -> None:
    inside = literal(text)[1:-1]
    assert '"' not in inside.replace('\\"', "").replace("\\\\", "")
    assert inside.isprintable()
    comment = documentation([lines(text)])
    assert all(line.startswith("///") and not line.startswith("////") for line in comment.splitlines())
    assert "```" not in comment
    assert "///     " not in comment
    assert raw('a"# b"## c').startswith('r###"')


def _words(comment: str) -> str:
    return " ".join(line.removeprefix("///").strip() for line in comment.splitlines())


@pytest.mark.parametrize("text", [*TEXTS, "a - b * c # d 1. e = f | " * 12, "- " + "an item of a list, " * 12])
def test_long_descriptions_are_wrapped_and_stay_the_same_words(text: str) -> None:
    told = lines(text)
    comment = documentation([told])
    assert _words(comment).split() == " ".join(told).split()
    begun = [line.removeprefix("/// ") for line in comment.splitlines() if line.removeprefix("/// ") not in told]
    assert not any(line[:1] in "-+*#=|" for line in begun[1:])


def test_what_is_wrapped_fits_the_columns_and_breaks_no_code() -> None:
    code = "`a --long command with --many options that nobody may break`"
    link = f"https://example.com/{'way/' * 30}"
    comment = documentation(
        [lines(f"- Long: {'word ' * 30}{code} {'more ' * 10}{link} end."), lines("# " + "h " * 80)], 4
    )
    made = comment.splitlines()
    assert all(len(line) <= 100 for line in made if link not in line and "# h" not in line)
    assert code in comment
    assert link in comment
    assert made[1].startswith("    ///   word")
    assert made[-1] == "    /// # " + ("h " * 80).strip()


def test_no_file_is_called_as_a_device_of_windows() -> None:
    plan = planned([Given("aux", {}), Given("Com1", {})], services=(Service(name="nul", interface="N", factory="N"),))
    stems = {Path(each.path).stem for each in LANGUAGE.write(plan).files}
    assert stems.isdisjoint({"aux", "com1", "nul"})


def test_headers_say_where_files_come_from() -> None:
    """ADL-52: generated files say so, those of a person do not."""
    written = LANGUAGE.write(planned(rich_plan_tools(), is_project=True, services=_SERVICES, sections=_SECTIONS))
    for each in written.files:
        if each.path.endswith(".rs"):
            is_told = each.text.startswith("// Code generated by ferrule gen")
            assert is_told is (each.standing == "generated"), each.path
        assert each.text.endswith("\n")
    assert {each.path for each in written.files if each.standing == "yours"} >= {"src/tools/given.rs", "Cargo.toml"}
    assert "src/tools/read.rs" in {each.path for each in written.files if each.standing == "generated"}

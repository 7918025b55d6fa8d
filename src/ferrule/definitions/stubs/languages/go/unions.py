"""Unions as structs of which one field is set."""

from __future__ import annotations

from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.go.documented import type_comment
from ferrule.definitions.stubs.languages.go.names import METHODS, exported
from ferrule.definitions.stubs.languages.go.records import Field, json_methods, struct
from ferrule.definitions.stubs.languages.go.shapes import Shape, Shapes, constant
from ferrule.definitions.stubs.languages.go.text import comment, quoted
from ferrule.model.type_tree import Constant, Union, Variant


def union(declared: Union, schema: str, shapes: Shapes, first: str) -> list[str]:
    """The declarations of a union."""
    words = (each.word for each in declared.variants)
    names = identifiers(words, exported(shapes.scope.acronyms), METHODS)
    fields = [_field(declared, each, names[each.word], shapes) for each in declared.variants]
    told = type_comment(f"{first} Exactly one field is set.", declared.words)
    return [
        *struct(declared.name, told, fields),
        *json_methods(declared.name, schema, declared.pointer),
        *_decode(declared, fields, schema),
        *_encode(declared.name, fields),
    ]


def _field(declared: Union, variant: Variant, name: str, shapes: Shapes) -> Field:
    told = _when(declared, variant)
    if isinstance(variant.type, Constant):
        base, literal = constant(variant.type.value)
        shapes.scalar(base)
        write = f"writeConstant(out, &count, value.{name}, {literal}, {base.write})"
        return Field(name, "bool", "", told, f"isConstant(value, {literal}, {base.read})", write)
    shape: Shape = shapes.of(variant.type, f"{declared.name}{name}", declared.name)
    read = f"(value, &made.{name}, {shape.read}"
    return Field(name, f"*{shape.go}", "", told, read, f"writeVariant(out, &count, value.{name}, {shape.write})")


def _when(declared: Union, variant: Variant) -> list[str]:
    if isinstance(variant.type, Constant):
        return comment([f"The value is {_shown(variant.type.value)}."], "\t")
    if declared.tag is None or not variant.tags:
        return []
    return comment([f"Where {declared.tag} is {' or '.join(map(_shown, variant.tags))}."], "\t")


def _shown(value: str | int | float | bool) -> str:
    return quoted(value) if isinstance(value, str) else str(value).lower()


def _decode(declared: Union, fields: list[Field], schema: str) -> list[str]:
    name = declared.name
    tried = _by_schema(declared, fields, schema) if declared.tag is None else _by_tag(declared, declared.tag, fields)
    return [f"func decode{name}(value any) ({name}, error) {{", f"\tvar made {name}", *tried, "}", ""]


def _by_schema(declared: Union, fields: list[Field], schema: str) -> list[str]:
    """The first variant whose schema takes the value, and whose type does: several may share one schema."""
    lines = ["\tvar problem error", "\tswitch {"]
    for variant, field in zip(declared.variants, fields, strict=True):
        accepts = f"{schema}.accepts({quoted(variant.pointer)}, value)"
        if isinstance(variant.type, Constant):
            lines += [f"\tcase {accepts} && {field.read}:", f"\t\tmade.{field.name} = true"]
        else:
            lines.append(f"\tcase {accepts} && isVariant{field.read}, &problem):")
    return [*lines, "\tdefault:", "\t\treturn made, noVariant(problem)", "\t}", "\treturn made, nil"]


def _by_tag(declared: Union, tag: str, fields: list[Field]) -> list[str]:
    is_textual = all(isinstance(each, str) for variant in declared.variants for each in variant.tags)
    lines = ["\tvar err error", f"\tswitch {'textTag' if is_textual else 'anyTag'}(value, {quoted(tag)}) {{"]
    seen: set[str] = set()
    for variant, field in zip(declared.variants, fields, strict=True):
        tags = dict.fromkeys(quoted(str(each) if is_textual else _any_tag(each)) for each in variant.tags)
        cases = [each for each in tags if each not in seen]
        seen.update(cases)
        if cases:
            lines += [f"\tcase {', '.join(cases)}:", f"\t\terr = readVariant{field.read})"]
    return [*lines, "\tdefault:", '\t\terr = invalid("fits no variant")', "\t}", "\treturn made, err"]


def _any_tag(tag: str | int | bool) -> str:
    """As `anyTag` of the support files has it."""
    if isinstance(tag, bool):
        return f"bool {str(tag).lower()}"
    return f"text {tag}" if isinstance(tag, str) else f"number {tag}"


def _encode(name: str, fields: list[Field]) -> list[str]:
    return [
        f"func encode{name}(out *jsonText, {'value' if fields else '_'} {name}) {{",
        "\tcount := 0",
        *(f"\t{each.write}" for each in fields),
        "\tout.needVariant(count)",
        "}",
        "",
    ]

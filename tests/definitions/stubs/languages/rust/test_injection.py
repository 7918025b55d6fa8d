"""What a tool in Rust is given when it is made, as parameters of its function."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Section, Service
from ferrule.definitions.stubs.languages.rust.injection import (
    factory,
    interface,
    needs_config,
    parameters,
    section_types,
    service_modules,
    service_variable,
)
from tests.definitions.stubs.languages.plans import PROJECT, injected, tool_plan


def service(name: str, kind: str = "Shop", made_by: str = "NewShop") -> Service:
    return Service(name=name, interface=kind, factory=made_by)


def test_parameters_come_in_the_order_of_the_definition_and_unknown_ones_are_left_out() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail", "config", "gone", "config.gone"))
    assert [tuple(each) for each in parameters(tool, PROJECT)] == [
        ("shop", "Arc<dyn crate::services::shop::Shop>", "shop_service.clone()"),
        ("logger", "Logger", "Logger"),
        ("mail_config", "crate::config::MailConfig", "config.mail.clone()"),
        ("config", "Arc<crate::config::Config>", "config.clone()"),
    ]


def test_a_parameter_hides_neither_the_input_nor_a_keyword() -> None:
    project = Project(name="x", version="1", services=(service("input"), service("type")))
    names = [each.name for each in parameters(tool_plan(inject=injected("input", "type")), project)]
    assert len(set(names)) == 2 and not {"input", "context", "type"} & set(names)


@pytest.mark.parametrize(("written", "name"), [("Shop", "Shop"), ("book shop", "BookShop"), ("Send", "SendService")])
def test_the_trait_of_a_service_is_a_type_that_nobody_else_has(written: str, name: str) -> None:
    assert interface(service("x", written)) == name


def test_a_factory_is_written_as_functions_are() -> None:
    assert factory(service("x", made_by="NewBookShop")) == "new_book_shop"


def test_a_service_has_a_module_that_is_no_keyword_and_no_device() -> None:
    modules = service_modules(Project(name="x", version="1", services=tuple(map(service, ("type", "aux", "shop")))))
    assert modules["shop"] == "shop" and modules["type"] != "type" and modules["aux"] != "aux"
    assert service_variable("type_") == "type_service"


def test_a_configuration_is_there_where_anything_needs_it() -> None:
    bare = Project(name="x", version="1")
    assert not needs_config(bare, (tool_plan(inject=injected("logger")),))
    assert needs_config(bare, (tool_plan(inject=injected("config")),))
    assert needs_config(PROJECT, ())


def test_a_group_of_settings_has_a_type() -> None:
    sections = (Section(name="smtp-mail", settings={}), Section(name="http", settings={}))
    project = Project(name="x", version="1", sections=sections, acronyms=frozenset({"http"}))
    assert section_types(project) == {"smtp-mail": "SmtpMailConfig", "http": "HTTPConfig"}

"""What a tool in Rust is given, as parameters of its function."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Service
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from tests.definitions.stubs.languages.plans import injected, plan_of, tool_plan


def around(*services: Service) -> RustSurroundings:
    return RustSurroundings(plan_of(project=Project(name="x", version="1", services=services)))


def test_parameters_come_in_the_order_of_the_definition_and_unknown_ones_are_left_out() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail", "config", "gone", "config.gone"))
    assert [tuple(each) for each in RustSurroundings(plan_of(tool)).function_parameters(tool)] == [
        ("shop", "Arc<dyn crate::services::shop::Shop>", "shop.clone()"),
        ("logger", "Logger", "Logger"),
        ("mail_config", "crate::config::MailConfig", "config.mail.clone()"),
        ("config", "Arc<crate::config::Config>", "config.clone()"),
    ]


def test_a_parameter_hides_neither_the_input_nor_a_keyword() -> None:
    services = (Service(name=name, interface="Shop", factory="NewShop") for name in ("input", "type"))
    found = around(*services).function_parameters(tool_plan(inject=injected("input", "type")))
    names = {each.name for each in found}
    assert len(names) == 2 and not {"input", "context", "type"} & names


@pytest.mark.parametrize(("written", "name"), [("Shop", "Shop"), ("book shop", "BookShop"), ("Send", "SendService")])
def test_the_trait_of_a_service_is_a_type_that_nobody_else_has(written: str, name: str) -> None:
    assert around(Service(name="x", interface=written, factory="NewX")).services["x"].interface == name


def test_a_factory_is_written_as_functions_are() -> None:
    made = around(Service(name="x", interface="BookShop", factory="NewBookShop"))
    assert made.services["x"].factory == "new_book_shop"


def test_a_service_has_a_module_that_is_no_keyword_and_no_device() -> None:
    names = ("type", "aux", "shop")
    made = around(*(Service(name=name, interface="X", factory="NewX") for name in names)).services
    assert made["shop"].module == "shop" and made["type"].module != "type" and made["aux"].module != "aux"

"""What tools in Go are given: settings, services, and how tools name them."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Service
from ferrule.definitions.stubs.languages.go.surroundings import GoSurroundings, name_module
from tests.definitions.stubs.languages.plans import MAIL, injected, plan_of, tool_plan


@pytest.mark.parametrize(
    ("module", "name", "path"),
    [
        ("books.example/clerk", "x", "books.example/clerk"),
        ("", "Book shop", "book-shop"),
        ("@scope/x", "x", "x"),
        ("a//b", "x", "x"),
        ("../x", "y", "y"),
        ("fmt", "fmt", "fmt-tools"),
        ("", "日本", "u26085-u26412"),
    ],
)
def test_a_module_has_a_legal_path(module: str, name: str, path: str) -> None:
    assert name_module(Project(name=name, version="1", module=module)) == path


def test_a_tool_is_given_what_its_definition_names_in_that_order() -> None:
    tool = tool_plan(inject=injected("shop", "logger", "config.mail", "config", "not declared", "config.gone"))
    around = GoSurroundings(plan_of(tool))
    assert [(each.field, each.go, each.argument) for each in around.dependencies(tool)] == [
        ("shopService", "shop.Shop", "shopService"),
        ("logger", "*slog.Logger", "logger"),
        ("mailConfig", "*config.MailConfig", "&cfg.Mail"),
        ("cfg", "*config.Config", "cfg"),
    ]


def test_a_section_and_a_service_of_one_name_are_told_apart() -> None:
    mail = Service(name="mail", interface="Mail", factory="NewMail")
    project = Project(name="x", version="1", services=(mail,), sections=(MAIL,))
    tool = tool_plan(inject=injected("config.mail", "mail"))
    assert [each.field for each in GoSurroundings(plan_of(tool, project=project)).dependencies(tool)] == [
        "mailConfig",
        "mailService",
    ]


@pytest.mark.parametrize(
    ("name", "folder", "package"),
    [
        ("shop", "shop", "shop"),
        ("config", "config_", "configsvc"),
        ("customerRepo", "customer_repo", "customerrepo"),
        ("decode", "decode", "decodesvc"),
        ("type", "type_", "typesvc"),
    ],
)
def test_a_service_has_a_package_that_hides_nothing(name: str, folder: str, package: str) -> None:
    service = Service(name=name, interface="shop-thing", factory="")
    around = GoSurroundings(plan_of(project=Project(name="x", version="1", services=(service,))))
    found = around.services[name]
    assert (found.module, around.packages[name]) == (folder, package)
    assert (found.interface, found.factory) == ("ShopThing", "NewShopThing")


def test_settings_are_needed_only_where_somebody_uses_them() -> None:
    bare = Project(name="x", version="1")
    assert not GoSurroundings(plan_of(tool_plan(), project=bare)).needs_config
    assert GoSurroundings(plan_of(tool_plan(inject=injected("config")), project=bare)).needs_config
    assert GoSurroundings(plan_of()).needs_config


def test_a_parameter_hides_no_package() -> None:
    services = (
        Service(name="mail", interface="Mailer", factory="NewMailer"),
        Service(name="order_repo", interface="OrderRepo", factory="NewOrderRepo"),
        Service(name="len", interface="URLFetcher", factory="NewFetcher"),
    )
    tool = tool_plan(inject=injected("mail", "order_repo", "len"))
    around = GoSurroundings(plan_of(tool, project=Project(name="x", version="1", services=services)))
    assert [(each.field, each.go) for each in around.dependencies(tool)] == [
        ("mailer", "mail.Mailer"),
        ("orderRepo", "orderrepo.OrderRepo"),
        ("len_", "lensvc.URLFetcher"),
    ]

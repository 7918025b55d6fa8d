"""Which callable makes a service: one that is marked, or one of the name that a manifest gives its factory."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

import pytest

from ferrule.app.opening import open_app
from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.functions import service
from ferrule.runtime.functions.factories import FactorySources, read_factory
from tests.runtime.functions.clerk import call_tool, make_manifest

pytestmark = pytest.mark.usefixtures("clean_services")


def test_a_workspace_brings_its_own_factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ADL-34: in the files of `[functions] modules`, tools and factories alike."""
    monkeypatch.setenv("DB_PASSWORD", "from-here")
    (tmp_path / "ferrule.toml").write_text('[functions]\nmodules = ["shop.py"]\n[policy]\nmode = "trusted"\n')
    for name, text in make_manifest("customerRepo", "logger").items():
        (tmp_path / name).write_text(text)
    (tmp_path / "shop.py").write_text(
        "import ferrule\n"
        "def NewCustomerRepo(database_config):\n"
        "    return {'url': database_config['url']}\n"
        "@ferrule.tool('clerk.look')\n"
        "def look(order, customer_repo, logger):\n"
        "    return [order, customer_repo['url'], logger.name]\n"
    )

    async def run() -> None:
        async with open_app(tmp_path) as app:
            result = await call_tool(app)
            url = "postgres://app:[REDACTED]@db/shop"
            assert result.structured_content == ["A-1", url, "ferrule.tools.clerk.look"], result

    asyncio.run(run())


def repo_of_manifests() -> str:
    """By the name that a manifest gives it."""
    return "by name"


@service("repo")
def marked_repo(url: str, log: logging.Logger, size: int = 4) -> str:
    """By its mark."""
    return url


def test_a_marked_factory_wins_over_one_that_has_the_name() -> None:
    sources = FactorySources([marked_repo, sys.modules[__name__]])
    assert sources.find("repo", "repo_of_manifests").function is marked_repo
    assert sources.find("other", "repo_of_manifests").function is repo_of_manifests


def test_a_name_of_a_manifest_is_found_as_python_would_write_it() -> None:
    assert FactorySources([sys.modules[__name__]]).find("other", "RepoOfManifests").function is repo_of_manifests


def test_the_module_of_a_given_function_is_looked_in_too() -> None:
    assert FactorySources([repo_of_manifests]).marked_factories == {"repo": marked_repo}


def test_a_service_that_nothing_makes_is_a_matter_of_set_up() -> None:
    with pytest.raises(ExecutionFailed, match=r'made by \'NewRepo\'.*@ferrule.service\("store"\)') as failed:
        FactorySources([marked_repo]).find("store", "NewRepo")
    assert failed.value.error_class == "setup_required"


def test_a_factory_says_what_it_wants_and_what_it_can_do_without() -> None:
    factory = read_factory("repo", marked_repo)
    assert factory.wants == {"url": None, "log": "logger", "size": None}
    assert factory.needs == {"url", "log"}


def test_a_factory_with_parameters_that_have_no_name_cannot_be_used() -> None:
    def nameless(url: str, /) -> str:
        return url

    with pytest.raises(ExecutionFailed, match=r"'repo' cannot be made: .*positional-only") as failed:
        read_factory("repo", nameless)
    assert failed.value.error_class == "setup_required"

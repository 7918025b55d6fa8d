"""axe-core (an npm package) in an open page: what somebody with a screen reader, a keyboard or weak eyes would stumble over."""

from __future__ import annotations

from functools import cache

from playwright.sync_api import Page
from scripts.conformance import FOLDER, NoSuite, node_program

from tests.services import missing

PACKAGE = {"axe-core": "4.10.3"}
_RUN = """async rules => {
  const runOnly = rules.length ? { runOnly: { type: 'rule', values: rules } } : {};
  const found = await axe.run(document, { resultTypes: ['violations'], ...runOnly });
  const told = one => node =>
    `${one.id}: ${node.target.join(' ')}: ${(node.failureSummary || '').replace(/\\s+/g, ' ').slice(0, 200)}`;
  return found.violations.filter(one => ['serious', 'critical'].includes(one.impact))
    .flatMap(one => one.nodes.slice(0, 3).map(told(one)));
}"""


@cache
def source() -> str:
    """The script; its tests are skipped where npm cannot bring it."""
    try:
        node_program("axe-core", PACKAGE)
    except NoSuite as why:
        missing("axe-core", str(why))
    return (FOLDER / "node_modules/axe-core/axe.min.js").read_text()


def findings(page: Page, *rules: str) -> list[str]:
    """What is serious or critical, with the element it is about. `rules`: only these, by axe's names."""
    page.evaluate(source())
    found: list[str] = page.evaluate(_RUN, list(rules))
    return found

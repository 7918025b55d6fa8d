"""The catalog that a workspace was built into: where it is, and how it is read."""

from __future__ import annotations

from pathlib import Path

from ferrule.definitions.compiler.seal import PUBLIC_FILE, trusted_keys
from ferrule.errors import CatalogError
from ferrule.model.catalog import Catalog
from ferrule.workspace.workspace import Workspace, show_path

CATALOG_FILE = ".ferrule/catalog.ferrule"


def load_catalog(workspace: Workspace, path: str | Path | None = None) -> Catalog:
    """The workspace's built catalog. Raises CatalogError when there is none, or its seal does not hold."""
    file = Path(path) if path is not None else workspace.root / CATALOG_FILE
    if not file.exists():
        raise CatalogError(f"there is no catalog {show_path(str(file))}; make one with 'ferrule build'")
    return Catalog.load(file, trusted_keys(workspace.root / PUBLIC_FILE))

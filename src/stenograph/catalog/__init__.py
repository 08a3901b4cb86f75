"""Sessions wherever they are: in homes, and in the archive where clients have deleted them. Found, listed and opened alike."""

from __future__ import annotations

from stenograph.catalog.catalog import Catalog, CatalogMatch

__all__ = ["Catalog", "CatalogMatch"]

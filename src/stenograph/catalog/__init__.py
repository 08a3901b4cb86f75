"""Sessions wherever they are, found, listed and opened alike: in homes, or in the archive if a client has deleted them."""

from __future__ import annotations

from stenograph.catalog.catalog import Catalog, CatalogMatch

__all__ = ["Catalog", "CatalogMatch"]

"""Find, list and open sessions in the same way wherever they are: in a home, or in the archive if a client deleted them."""

from __future__ import annotations

from stenograph.catalog.catalog import Catalog, CatalogMatch

__all__ = ["Catalog", "CatalogMatch"]

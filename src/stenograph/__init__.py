"""Read, check, search, price, edit, trace and continue Claude Code sessions."""

__version__ = "0.1.0"

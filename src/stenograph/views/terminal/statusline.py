"""What is known about now as one line: a status line is printed again and again, so this loads no page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stenograph.views.text import dollars, duration, plain, thousands

if TYPE_CHECKING:
    from stenograph.analysis import UsageStatus


def status_line(status: UsageStatus, now: datetime | None = None) -> str:
    """One line: the model, this session, today, the current block, the context."""
    parts = [plain(status.model)] if status.model else []
    if status.session is not None:
        parts.append(f"{dollars(status.session)} session")
    parts.append(f"{dollars(status.today)} today")
    if status.block_ends is not None:
        left = max(0, round((status.block_ends - (now or datetime.now(UTC))).total_seconds() / 60)) * 60_000
        parts.append(f"{dollars(status.block)} block ({duration(left)} left)")
    if status.context:
        share = f" ({status.percent:.0f}%)" if status.percent is not None else ""
        parts.append(f"{thousands(status.context)} context{share}")
    return " | ".join(parts)

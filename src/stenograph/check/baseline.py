"""Findings that a user accepts: written to a file once, excluded from later reports.

Drift is accepted wherever it occurs, damage only in the files that had it, unreadable files never.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from stenograph.check.report import CheckReport, DamageFinding
from stenograph.disk import write_atomically
from stenograph.errors import ConfigError


class Accepted(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One finding; a path for damage, a shape for drift."""

    code: str
    shape: str = ""
    field: str = ""
    met: str = ""
    path: str = ""


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    accepted: list[Accepted]


def baseline_of(report: CheckReport) -> Baseline:
    drift = [Accepted(each.code, each.shape, each.field, each.met) for each in report.drift]
    damage = [Accepted(each.code, path=str(path)) for each in report.damage for path in sorted(each.files)]
    return Baseline([*drift, *damage])


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Raises UnwritableError."""
    lines = ",\n".join(msgspec.json.encode(entry).decode() for entry in baseline.accepted)
    write_atomically(path, f'{{"accepted": [\n{lines}\n]}}\n'.encode())


def read_baseline(path: Path) -> Baseline:
    """Raises ConfigError where the file is missing or not a baseline."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path} is not a baseline of steno check --write-baseline ({type(error).__name__})") from None


def without(report: CheckReport, baseline: Baseline) -> CheckReport:
    """The report without what is accepted."""
    accepted = set(baseline.accepted)
    drift = [each for each in report.drift if Accepted(each.code, each.shape, each.field, each.met) not in accepted]
    damage = []
    for each in report.damage:
        files = {path: found for path, found in each.files.items() if Accepted(each.code, path=str(path)) not in accepted}
        if files:
            damage.append(DamageFinding(each.code, files))
    return msgspec.structs.replace(report, drift=drift, damage=damage)

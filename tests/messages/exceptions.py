"""Public sessions of which real clients send something else than we say, each under its rule and with its reason.

`test_golden.py` asks that nothing else differs and that these still do; tests/surgery/test_clients.py asks it of edited ones.
"""

from __future__ import annotations

# In nine made sessions with plans in calls, results, attachments, prompts and files neither release put one back; the session is
# not in the corpus any more.
PLAN = "36: the plan of an ExitPlanMode call without one is put back into its input; from where is not known"

#: Set and release -> name of the session (of a public one the beginning of its hash) -> rule and reason.
EXCEPTIONS: dict[tuple[str, str], dict[str, str]] = {
    ("public", "2.0.76"): {"106c5d5931cf": PLAN},
    ("public", "2.1.45"): {"106c5d5931cf": PLAN},
}

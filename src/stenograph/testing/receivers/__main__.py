"""The keeper of one server, run by `shared_server`: `python -m stenograph.testing.receivers LAUNCH FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stenograph.testing.receivers.keeper import keep
from stenograph.testing.receivers.server import Launch

if __name__ == "__main__":
    sys.exit(keep(Launch(**json.loads(Path(sys.argv[1]).read_text())), Path(sys.argv[2])))

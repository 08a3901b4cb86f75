"""The keeper of one server, run by `shared_server`: `python -m lab.receivers LAUNCH FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lab.receivers.keeper import keep
from lab.receivers.server import Launch

if __name__ == "__main__":
    sys.exit(keep(Launch(**json.loads(Path(sys.argv[1]).read_text())), Path(sys.argv[2])))

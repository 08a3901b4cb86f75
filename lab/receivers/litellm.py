"""LiteLLM's proxy: the Messages API before a server of chat completions. Not a trace receiver, but run as one."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from lab.receivers.server import Receiver, programs_of

#: It refuses to start with a weak one.
MASTER_KEY = "sk-Qm3xk9Zt7Lw2Vp5Rb8Nc4Hd6Jf1Gs0Ty"
MODEL = "local"


def litellm(backend: str) -> Receiver:
    """`backend`: the address of the server behind it."""
    command = partial(_command, backend)
    return Receiver(
        "litellm", "litellm[proxy]", "1.106.2", "/health/liveliness", command, Path(__file__).with_name("litellm.txt")
    )


def _command(backend: str, installed: Path, work: Path, port: int, _: int) -> tuple[list[str], dict[str, str]]:
    # `hosted_vllm` is spoken to by chat completions; `openai` would be by the newer Responses API.
    parameters = {"model": "hosted_vllm/scripted", "api_base": f"{backend}/v1", "api_key": "none"}
    config = work / "config.yaml"
    config.write_text(json.dumps({"model_list": [{"model_name": MODEL, "litellm_params": parameters}]}))  # JSON is YAML
    command = [str(programs_of(installed) / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    # Nothing leaves the machine: not even for the list of prices.
    environment = {"LITELLM_MASTER_KEY": MASTER_KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    return command, environment

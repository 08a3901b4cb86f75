"""The rule that would allow a command, as narrow as it is useful."""

from __future__ import annotations

from stenograph.agent.permissions.rules import PermissionRule
from stenograph.agent.permissions.shell_parts import Part

#: Programs whose first words say what they do, and how many of them.
_WORDS = {
    **dict.fromkeys(("git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "docker", "kubectl", "pip", "pip3", "uv", "poetry"), 2),
    **dict.fromkeys(("gem", "bundle", "dotnet", "terraform", "systemctl", "brew", "apt", "make", "just", "composer"), 2),
    **dict.fromkeys(("gh", "aws", "gcloud", "az"), 3),
}
_RUNNING = ("run", "exec", "compose")
#: A rule for all of these would allow everything.
_ANYTHING = frozenset({
    "sh", "bash", "dash", "zsh", "fish", "env", "sudo", "doas", "eval", "exec", "xargs", "python", "python3", "perl", "ruby",
    "node", "deno", "php", "lua", "awk", "ssh", "su", "nohup", "timeout", "time", "nice", "command", "watch", "find",
})  # fmt: skip


def suggested_rule(part: Part) -> PermissionRule:
    words = part.words
    count = _WORDS.get(words[0], 1)
    if count == 2 and len(words) > 1 and words[1] in _RUNNING:
        count = 3
    prefix = words[:count]
    are_plain = all(word.replace("-", "").replace("_", "").replace(".", "").replace(":", "").isalnum() for word in prefix)
    is_known = part.text.startswith(" ".join(prefix)) and are_plain and not any(word.startswith("-") for word in prefix)
    if words[0] in _ANYTHING or not is_known:
        return PermissionRule("Bash", part.text)
    return PermissionRule("Bash", f"{' '.join(prefix)}:*")

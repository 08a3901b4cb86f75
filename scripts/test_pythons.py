"""Runs the core tests against the built wheel on every Python that the package supports.

    scripts/test_pythons.py [--require] [VERSION…]

Builds the wheel once, makes an environment with nothing but the wheel and the test tools for each interpreter, and runs the tests
there; the checkout's own `src` is not on the path. An interpreter that cannot be found is reported; with `--require` that is an
error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv" / "pythons"
#: The library up to what it shows. The command line, the agent, traces and surgery are tested by `make test`, on one Python.
CORE = [
    "releases",
    "config",
    "disk",
    "client_settings",
    "family",
    "records",
    "graph",
    "turns",
    "reference",
    "messages",
    "pricing",
    "redact",
    "sessions",
    "analysis",
    "views",
]
FILES = [*(f"tests/{folder}" for folder in CORE), "tests/testing", "tests/test_public.py"]
#: These compare with the vendor's SDK, 350 MB of it, and HTML needs the extra `web`.
LEFT_OUT = ["tests/sessions/test_labels.py", "tests/sessions/test_sdk_agreement.py", "tests/views/test_html.py"]
#: Real clients and receivers do not depend on the interpreter.
SELECTION = "not clients and not receivers and not full"


def main(arguments: list[str]) -> int:
    require = "--require" in arguments
    versions = [argument for argument in arguments if not argument.startswith("--")] or supported()
    interpreters = {version: find_interpreter(version) for version in versions}
    missing = [version for version, interpreter in interpreters.items() if interpreter is None]
    for version in missing:
        sys.stderr.write(f"Python {version}: not found (looked on PATH and in pyenv's versions)\n")
    if missing and require:
        return 1
    wheel = build_wheel()
    failed = []
    for version, interpreter in interpreters.items():
        if interpreter is not None:
            sys.stderr.write(f"Python {version}: {interpreter}\n")
            python = make_environment(version, interpreter, wheel)
            if run_tests(python):
                failed.append(version)
    if failed:
        sys.stderr.write(f"failed on Python {', '.join(failed)}\n")
    return 1 if failed else 0


def supported() -> list[str]:
    """The versions that the package's classifiers name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    return [name.rpartition(" ")[2] for name in project["classifiers"] if name.startswith(prefix)]


def find_interpreter(version: str) -> str | None:
    return next((candidate for candidate in candidates(version) if is_version(candidate, version)), None)


def candidates(version: str) -> Iterator[str]:
    yield f"python{version}"
    # pyenv's shim of that name fails unless the version is selected; its versions are in folders of their own, beside the shims.
    shim = shutil.which(f"python{version}")
    roots = [Path(os.environ.get("PYENV_ROOT", "")), Path(shim or "").parent.parent, Path.home() / ".pyenv"]
    for root in roots:
        for folder in sorted((root / "versions").glob(f"{version}.*"), reverse=True):
            yield str(folder / "bin" / "python")


def is_version(interpreter: str, version: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def build_wheel() -> Path:
    folder = ROOT / ".venv" / "wheel"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(version: str, interpreter: str, wheel: Path) -> Path:
    """An environment with the wheel and the tools of its tests; kept between runs, except for the wheel."""
    folder = ENVIRONMENTS / version
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
        pip(python, "pip")
    pip(python, "--group", f"{ROOT / 'pyproject.toml'}:core-test", f"{wheel}[agent]")
    pip(python, "--force-reinstall", "--no-deps", str(wheel))
    return python


def pip(python: Path, *arguments: str) -> None:
    constraints = ["-c", str(ROOT / "constraints.txt")]
    subprocess.run([str(python), "-m", "pip", "install", "-q", *constraints, *arguments], check=True)


def run_tests(python: Path) -> int:
    options = ["-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", "-m", SELECTION]
    options += [f"--ignore={path}" for path in LEFT_OUT]
    return subprocess.run([str(python), "-m", "pytest", *options, *FILES], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`make run`: the viewer on your own sessions, or on the demo's where there are none.

On a terminal it runs until Ctrl-C. Without one, starts it, fetches its first page, prints its address and stops it.
"""

from __future__ import annotations

import subprocess
import sys
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

STENO = [str(Path(sys.executable).with_name("steno"))]


def main() -> None:
    listed = subprocess.run([*STENO, "ls", "--all", "--limit", "1"], capture_output=True)
    options = [] if listed.returncode == 0 else ["--demo"]
    if options:
        sys.stdout.write("No sessions of your own were found; these are the demo's.\n")
        sys.stdout.flush()
    if sys.stdout.isatty():
        # Ctrl-C is the viewer's.
        raise SystemExit(subprocess.call([*STENO, *options, "web"]))
    viewer = subprocess.Popen([*STENO, *options, "web", "--no-open"], stdout=subprocess.PIPE, text=True)
    try:
        assert viewer.stdout is not None
        link = viewer.stdout.readline().removeprefix("Viewer: ").strip()
        if not link:
            raise SystemExit(viewer.wait())
        print_first_page(link)
    finally:
        viewer.terminate()
        viewer.wait()


def print_first_page(link: str) -> None:
    # No proxy: it is this machine's own address.
    browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
    browser.open(link, timeout=60).read()
    home = urlsplit(link)._replace(query="").geturl()
    with browser.open(home, timeout=60) as answer:
        sys.stdout.write(f"{link}\nThe first page has {len(answer.read()):,} bytes. To keep it open: steno web\n")


if __name__ == "__main__":
    main()

"""Builds the site in a folder. Exit codes: 0 if the site is built without problems, 1 otherwise."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hack.site import links, staging


def build(target: Path) -> list[str]:
    """Builds the site and returns its problems, a line each; Zensical prints its own messages."""
    if problems := staging.unlisted(staging.pages()):
        return problems
    with tempfile.TemporaryDirectory() as folder:
        staging.stage(Path(folder))
        command = [Path(sys.executable).with_name("zensical"), "build", "--strict"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return [_COLOUR.sub("", done.stderr.partition("Traceback")[0])]
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(folder, "site"), target)
    _localise(target)
    return links.broken(target.resolve())


def _localise(site: Path) -> None:
    """Makes pages load from this site what Zensical would load from another one."""
    shutil.copyfile(_WORKER, site / "assets" / _WORKER.name)
    for page in site.rglob("*.html"):
        ours = "../" * (len(page.relative_to(site).parts) - 1) + f"assets/{_WORKER.name}"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(_SHIM, ours), encoding="utf-8")


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_WORKER = Path(__file__).with_name("worker.js")
_SHIM = "https://unpkg.com/iframe-worker/shim"


if __name__ == "__main__":
    place = Path(*sys.argv[1:2] or ["site"])
    if found := build(place):
        sys.exit("\n".join(found))
    print(place / "index.html")

"""The README's "Try it": what it tells people to type works, letter by letter.

It installs the package from a copy of the checkout, outside of it, as a newcomer does.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 240
"""Seconds until the first answer: a download of some 90 MB may be part of it."""

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(PATIENCE + 60)]


def test_what_the_readme_says_to_type_is_answered(tmp_path: Path) -> None:
    install, ask = _blocks("## Try it")
    checkout = _checkout(tmp_path)
    with _shell(install, checkout) as log:
        _wait_for("Ctrl-C ends", log)
        answered = subprocess.run(
            ["bash", "-e", "-c", ask],
            cwd=checkout, env=_environment(checkout), capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert answered.returncode == 0, answered.stderr + log.read_text()
    assert re.findall(r'"backend": "(\S+)"', answered.stdout) == ["cart", "storefront"]
    assert "HTTPProxy" in answered.stdout
    assert "Traceback" not in log.read_text()


def _blocks(headline: str) -> list[str]:
    text = (ROOT / "README.md").read_text().split(headline, 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```sh\n(.*?)```", text, re.S)


def _checkout(folder: Path) -> Path:
    """A copy of what git would clone: of the files of this checkout as they are now."""
    copy = folder / "checkout"
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    return copy


def _environment(checkout: Path) -> dict[str, str]:
    home = {name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME") if name in os.environ}
    given = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {
        "PATH": f"{Path(sys.base_prefix, 'bin')}:/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": str(checkout.parent),
        "LANG": "C.UTF-8",
        # Compiling what is run once only costs time.
        "PIP_NO_COMPILE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        **home,
        **given,
    }


@contextmanager
def _shell(commands: str, checkout: Path) -> Iterator[Path]:
    """Types commands in a shell of its own; ends what they started with Ctrl-C."""
    path = checkout.parent / "terminal.log"
    with path.open("wb") as log:
        shell = subprocess.Popen(
            ["bash", "-e", "-c", commands],
            cwd=checkout, env=_environment(checkout), stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        yield path
    finally:
        os.killpg(shell.pid, signal.SIGINT)
        shell.wait(timeout=30)


def _wait_for(text: str, log: Path) -> None:
    deadline = monotonic() + PATIENCE
    while text not in log.read_text():
        assert monotonic() < deadline, log.read_text()
        sleep(0.1)

"""Follows a page on one machine: `python -m tests.docs.pages.following PAGE FOLDER`.

The caller gives it a network and processes of its own, so that a page has the ports that it names
and everything that it starts ends with it. Prints what went wrong and ends with 1, or ends with 0.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic, sleep

from hack import pages
from hack.pages import Block
from tests.docs.pages.matching import appears, matches

_TYPED = """\
set -a -o pipefail
[ ! -e "$SHELL_STATE" ] || . "$SHELL_STATE"
{text}
{{ export -p | grep -v -e ' PWD=' -e ' OLDPWD='; printf 'cd %q\\n' "$PWD"; }} > "$SHELL_STATE"
"""
"""Variables and the folder pass on to the next block, as in one shell."""


class WrongError(Exception):
    """A block does not do what its page says."""


class Reader:
    """Follows a page in a folder, with one terminal and others for what keeps running."""

    def __init__(self, folder: Path, environment: Mapping[str, str], patience: float) -> None:
        """A block has so many seconds until it prints what its page says."""
        self.folder = folder
        self.environment = {**environment, "SHELL_STATE": str(folder.parent / "shell")}
        self.patience = patience
        self.terminals: list[Path] = []

    def follow(self, blocks: list[Block]) -> None:
        """Takes the steps in their order; raises WrongError at the first that fails."""
        following = [*blocks[1:], Block("", "", 0)]
        for it, after in zip(blocks, following, strict=True):
            said = after.text if after.language == "text" and not after.mark else None
            try:
                self._take(it, said)
            except WrongError as error:
                raise WrongError(f"line {it.line}: {error}") from None

    def _take(self, it: Block, said: str | None) -> None:
        if it.reason:
            return
        if it.mark == "terminal":
            self._until_said(it.text, self.terminals, appears)
        elif it.mark == "keeps running":
            self._start(it.text, said or "…\n")
        elif it.language == "sh":
            self._type(it.text, said)
        elif it.file:
            path = self.folder / it.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(it.text, encoding="utf-8")

    def _bash(self, text: str, log: Path) -> subprocess.Popen[bytes]:
        """From a file: `pkill -f` finds no shell with the name of its victim in its command."""
        program = log.with_suffix(".sh")
        program.write_text(_TYPED.format(text=text), encoding="utf-8")
        with log.open("wb") as output:
            return subprocess.Popen(
                ["bash", "-e", program], cwd=self.folder, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    def _type(self, text: str, said: str | None) -> None:
        """Without anything to compare once; else until it prints that, for changes take a while."""
        log, deadline = self.folder.parent / "typed.log", monotonic() + self.patience
        while True:
            code = self._bash(text, log).wait(self.patience)
            printed = log.read_text()
            right = code == 0 if said is None else matches(said, printed)
            if right:
                return
            if said is None or monotonic() > deadline:
                raise WrongError(f"ends with {code} and prints:\n{printed}{self._logs()}")
            sleep(0.3)

    def _start(self, text: str, said: str) -> None:
        self.terminals.append(self.folder.parent / f"terminal-{len(self.terminals) + 1}.log")
        self._bash(text, self.terminals[-1])
        self._until_said(said, self.terminals[-1:], lambda a, b: matches(a, b, whole=False))

    def _until_said(
        self, said: str, terminals: list[Path], is_said: Callable[[str, str], bool]
    ) -> None:
        deadline = monotonic() + self.patience
        while not any(is_said(said, it.read_text()) for it in terminals):
            if monotonic() > deadline:
                raise WrongError(f"no terminal says:\n{said}{self._logs()}")
            sleep(0.1)

    def _logs(self) -> str:
        return "".join(f"--- {it.name}\n{it.read_text()[-3000:]}\n" for it in self.terminals)


def main() -> None:
    """Follows the page."""
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    private = {"HOME": str(folder.parent), "XDG_RUNTIME_DIR": str(folder.parent)}
    patience = float(os.environ["PAGE_PATIENCE"])
    try:
        Reader(folder, os.environ | private, patience).follow(pages.blocks(page))
    except WrongError as error:
        sys.exit(f"{page.relative_to(pages.ROOT)}, {error}")


if __name__ == "__main__":
    main()

"""Tutorials and how-to guides, parsed into steps that a test executes.

A page is Markdown. Its fenced blocks are the steps, in their order:

- `sh`: commands, typed into one shell;
- `text`: what the commands before it print; `…` stands for anything, on a line of its own for any
  number of lines;
- every other language: a file, whose name is the last code with a dot in the paragraph before it.

A comment on the line above a block changes that: `<!-- keeps running -->` marks commands in a
terminal of their own, whose output begins with the next `text`; `<!-- terminal -->` a `text` that a
terminal has printed since; `<!-- not run: REASON -->` a block that cannot run here. `<!-- needs:
cluster -->` anywhere means that a page needs a cluster.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs/tutorials", "docs/how-to")

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*?) -->\n)?```(?P<language>[\w-]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"`([\w./-]+\.\w+)`")
_NOT_RUN = "not run: "


class PageError(Exception):
    """A page that cannot be executed; the message has the file and the line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    language: str
    """The first word after the fence, such as `sh`."""
    text: str
    line: int
    """Where the block begins, counted from 1."""
    mark: str = ""
    """The comment on the line above it."""
    file: str = ""
    """The file that has this text, for languages that are not typed."""

    @property
    def reason(self) -> str:
        """Why it is not run; empty if it is run."""
        return self.mark.removeprefix(_NOT_RUN) if self.mark.startswith(_NOT_RUN) else ""


def pages() -> list[Path]:
    """All tutorials and how-to guides."""
    return sorted(it for folder in FOLDERS for it in Path(ROOT, folder).glob("*.md"))


def needs_cluster(page: Path) -> bool:
    """Whether the page needs a cluster."""
    return "<!-- needs: cluster -->" in page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    """The blocks of a page. Raises PageError for a block whose meaning is not clear."""
    found = [*_read(page.read_text(encoding="utf-8"))]
    for before, it in pairwise([Block("", "", 0), *found]):
        if problem := _problem(before, it):
            raise PageError(f"{page}:{it.line}: {problem}")
    return found


def _problem(before: Block, it: Block) -> str:
    if it.mark not in ("", "keeps running", "terminal") and not it.reason:
        return f"unknown comment {it.mark!r}"
    if it.language == "text":
        follows = before.language == "sh" and not before.reason
        return "" if it.mark or follows else "a text that no commands print"
    return "" if it.language == "sh" or it.file or it.reason else "a file without a name"


def _read(text: str) -> Iterator[Block]:
    end = 0
    for found in _BLOCK.finditer(text):
        language = found["language"]
        typed = language in ("sh", "text")
        paragraph = text[end : found.start()].strip().rpartition("\n\n")[2]
        names = _FILE.findall(paragraph)
        line = text.count("\n", 0, found.start()) + 1
        file = names[-1] if names and not typed else ""
        yield Block(language, found["text"], line, found["mark"] or "", file)
        end = found.end()

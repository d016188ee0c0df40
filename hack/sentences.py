"""How long the sentences of the user pages are: `hack/reading`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from hack.pages import ROOT

KINDS = {
    "tutorials": ["docs/tutorials/*.md"],
    "how-to guides": ["docs/how-to/*.md"],
    "explanations": ["docs/explanation/*.md"],
    "other pages": ["README.md", "SECURITY.md", "docs/*.md"],
}
TARGET = 20
"""Words of a median sentence, at most."""

_FENCE = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"*\d])")


def prose(text: str) -> Iterator[str]:
    """The paragraphs and items of a page: no headings, no tables, no code."""
    plain = _LINK.sub(r"\1", _FENCE.sub("\n\n", text))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", plain):
        lines = [it for it in paragraph.splitlines() if not it.lstrip().startswith(("#", "|"))]
        if lines:
            yield re.sub(r"^\s*(?:[-*]|\d+\.) ", "", " ".join(lines))


def lengths(text: str) -> list[int]:
    """The number of words of each sentence; code between backticks is one word."""
    sentences = (it for part in prose(text) for it in _END.split(part))
    words = (len(re.findall(r"\S*\w\S*", re.sub(r"`[^`]*`", "x", it))) for it in sentences)
    return [it for it in words if it]


def main() -> None:
    """Prints a table; exits with a message if a median is above the target."""
    print("| pages | sentences | median words | nine of ten have at most |\n|---|---|---|---|")
    worst = 0.0
    for kind, patterns in KINDS.items():
        pages = [it for pattern in patterns for it in Path(ROOT).glob(pattern)]
        found = [it for page in pages for it in lengths(page.read_text(encoding="utf-8"))]
        worst = max(worst, middle := median(found))
        print(f"| {kind} | {len(found)} | {middle:g} | {quantiles(found, n=10)[-1]:g} |")
    if worst > TARGET:
        sys.exit(f"a median above {TARGET} words")


if __name__ == "__main__":
    main()

"""Finds figures in the README and the docs whose source is not named: `hack/figure-sources`.

A figure is a measured amount of time or memory, recognized by a word beside it such as "median" or
"memory". Its section has to name a command of `hack` that repeats it, or refer to the page of
figures, which has the commit and the load of each. Values of fields are no figures.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from hack.pages import ROOT

PAGES = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "hack/*.md"),
    *("docs/*.md", "docs/tutorials/*.md", "docs/how-to/*.md", "docs/explanation/*.md"),
)
GENERATED = "docs/figures.md"

_AMOUNT = re.compile(r"\d ?(?:[mµ]s|[KMG]i?B|seconds? of (?:one core|processor time))\b")
_MEASURED = re.compile(r"\b(?:memory|median|mean|p99|processor time|measured|plan)\b")
_SOURCE = re.compile(r"`hack/[a-z]|\bfigures\.md\b")
_FENCE = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_FIELD = "| `"
"""The beginning of a row in a table of fields."""


def unsourced(text: str) -> Iterator[str]:
    """The paragraphs, items and rows with a figure in sections that name no source."""
    for section in re.split(r"^(?=#+ )", _FENCE.sub("\n\n", text), flags=re.MULTILINE):
        if not _SOURCE.search(section):
            yield from filter(_is_figure, re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)", section))


def _is_figure(part: str) -> bool:
    return not part.startswith(_FIELD) and bool(_AMOUNT.search(part) and _MEASURED.search(part))


def pages() -> Iterator[Path]:
    """The pages that are written by hand."""
    found = (it for pattern in PAGES for it in sorted(Path(ROOT).glob(pattern)))
    return (it for it in found if it != ROOT / GENERATED)


def main() -> None:
    """Prints each figure without a source, with its page; exits with 1 if there is one."""
    found = [(page, it) for page in pages() for it in unsourced(page.read_text(encoding="utf-8"))]
    for page, it in found:
        print(f"{page.relative_to(ROOT)}: {' '.join(it.split())}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

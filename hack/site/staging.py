"""The files of the site: the pages of the navigation, and what they link to."""

import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).with_name("zensical.toml")
_STYLES = Path(__file__).with_name("site.css")

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def pages() -> list[str]:
    """The pages of the navigation, as paths from the root of the repository, in its order."""
    return [*_entries(tomllib.loads(CONFIGURATION.read_text())["project"]["nav"])]


def _entries(given: list[dict[str, Any]]) -> Iterator[str]:
    for entry in given:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from _entries(value)


def links(page: str) -> Iterator[str]:
    """The files of the repository to which a page links, as paths from its root."""
    text = _CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for link in _LINK.findall(text):
        yield str((ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT))


def unlisted(given: Iterable[str]) -> list[str]:
    """A line for each page of ours that pages link to and no entry of `nav` has."""
    listed = [*given]
    return sorted(
        f"{page}: links to {it}, which is not in the navigation"
        for page in listed
        for it in links(page)
        if it.endswith(".md") and it not in listed
    )


def stage(folder: Path) -> None:
    """Copies the pages, what they link to, and the configuration to a folder."""
    for page in pages():
        for it in (page, *links(page)):
            target = folder / "pages" / it
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / it).is_file():
                shutil.copyfile(ROOT / it, target)
            else:
                shutil.copytree(ROOT / it, target, dirs_exist_ok=True)
    (folder / "pages" / "assets").mkdir()
    shutil.copyfile(_STYLES, folder / "pages" / "assets" / _STYLES.name)
    shutil.copyfile(CONFIGURATION, folder / CONFIGURATION.name)

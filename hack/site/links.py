"""Broken links of a built site: missing files and anchors, and resources of other sites."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
_NO_LOADING = {"canonical", "next", "prev", "preconnect"}


class _Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        """The links that a browser fetches at once."""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.anchors |= {found[it] for it in ("id", "name") if it in found}
        for key in ("href", "src"):
            if key in found and found.get("rel") not in _NO_LOADING:
                (self.loaded if (tag, key) in _LOADED else self.links).append(found[key])


def broken(site: Path) -> list[str]:
    """A line for each link to a missing file or anchor, and for each resource that a page fetches
    from another site. Links to pages of other sites are not followed."""
    pages = {it: _Page(it.read_text(encoding="utf-8")) for it in site.rglob("*.html")}
    return sorted(
        f"{path.relative_to(site)}: {problem}"
        for path, page in pages.items()
        if path.name != "404.html"  # its links are relative to a server's root
        for problem in _broken(path, page, pages)
    )


def _broken(path: Path, page: _Page, pages: dict[Path, _Page]) -> Iterator[str]:
    for link in page.loaded:
        if urlsplit(link).scheme not in {"", "data"}:
            yield f"fetches {link}"
    for link in (*page.links, *page.loaded):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = path if not parts.path else path.parent.joinpath(unquote(parts.path)).resolve()
        if not target.is_file():
            yield f"{link}: there is no such file"
        elif parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{link}: there is no such anchor"

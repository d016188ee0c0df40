"""The documentation site: built without a warning, its links hold, its search needs no server."""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.command import Command

from hack.site import __main__ as site
from hack.site import links, staging
from tests.testbed import contrast
from tests.testbed.processes import ROOT, wait

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None and "CI" not in os.environ,
    reason="Zensical is not installed: hack/docs installs it",
)


@pytest.fixture(name="built", scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    assert site.build(folder) == []
    return folder


def test_every_page_of_docs_is_in_the_navigation_once() -> None:
    listed = staging.pages()
    assert len(listed) == len(set(listed))
    ours = {str(it.relative_to(ROOT)) for it in Path(ROOT, "docs").rglob("*.md")}
    assert ours <= set(listed)


def test_a_link_to_a_page_that_is_not_in_the_navigation_is_told() -> None:
    rest = [it for it in staging.pages() if it != "docs/conformance.md"]
    assert any("docs/conformance.md" in it for it in staging.unlisted(rest))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<a href='b.html'>", ""),
        ("<a href='b.html#there'>", ""),
        ("<a href='https://example.com'>", ""),
        ("<a href='c.html'>", "there is no such file"),
        ("<a href='b.html#gone'>", "there is no such anchor"),
        ("<a href='#gone'>", "there is no such anchor"),
        ("<img src='https://example.com/a.png'>", "fetches https://example.com/a.png"),
        ("<script src='gone.js'>", "there is no such file"),
    ],
)
def test_a_link_to_nothing_is_told(tmp_path: Path, body: str, problem: str) -> None:
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text("<h1 id=there>")
    found = links.broken(tmp_path)
    assert len(found) == bool(problem)
    assert all(problem in it for it in found)


def test_a_warning_of_the_generator_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = staging.stage

    def staged(folder: Path) -> None:
        stage(folder)
        (folder / "pages" / "README.md").write_text("# Home\n\n[nothing](docs/gone.md)\n")

    monkeypatch.setattr(staging, "stage", staged)
    (told, *_) = site.build(tmp_path / "site")
    assert "page does not exist" in told
    assert not (tmp_path / "site").exists()


@pytest.fixture(name="browser")
def _browser(tmp_path: Path) -> Iterator[Chrome]:
    wanted = ChromeOptions()
    wanted.binary_location = "/usr/bin/chromium"
    wanted.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    usual = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    away = ("--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND")
    for it in (*usual, *away, "--window-size=1200,900", f"--user-data-dir={tmp_path / 'profile'}"):
        wanted.add_argument(it)
    browser = Chrome(wanted, Service("/usr/bin/chromedriver"))
    try:
        yield browser
    finally:
        browser.quit()


@pytest.mark.browser
def test_the_site_is_searched_without_a_server(built: Path, browser: Chrome) -> None:
    browser.get((built / "docs" / "kubectl.html").as_uri())
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("kubectl contour")
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    browser.switch_to.active_element.send_keys("quarantine")
    wait(lambda: "Quarantine" in _asked(browser, _RESULTS), "a result")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    wait(lambda: "/explanation/quarantine.html" in browser.current_url, "the page of the result")
    logged = browser.execute("getLog", {"type": "browser"})["value"]
    assert not [it["message"] for it in logged if it["level"] == "SEVERE"]


def test_every_page_has_one_title(built: Path) -> None:
    pages = {it: it.read_text().count("<h1") for it in built.rglob("*.html")}
    assert set(pages.values()) == {1}, pages


@pytest.mark.browser
def test_pages_are_no_wider_than_a_phone(built: Path, browser: Chrome) -> None:
    """Tables and blocks of code are scrolled by themselves."""
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for page in (*_OF_EACH_KIND, "reference/httproute", "reference/commands", "configuration"):
        browser.get((built / "docs" / f"{page}.html").as_uri())
        assert _asked(browser, "return document.documentElement.scrollWidth") == 390, page


_OF_EACH_KIND = ("tutorials/canary", "how-to/jwt", "explanation/comparison")


@pytest.mark.browser
def test_the_colours_are_those_of_the_readers_system(built: Path, browser: Chrome) -> None:
    found: dict[str, str] = {}
    for scheme in ("light", "dark"):
        contrast.prefer(browser, scheme)
        browser.get((built / "index.html").as_uri())
        found[scheme] = _asked(browser, "return document.body.dataset.mdColorScheme")
    assert found == {"light": "default", "dark": "slate"}


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(built: Path, browser: Chrome, scheme: str) -> None:
    contrast.prefer(browser, scheme)
    for page in (*_OF_EACH_KIND, "reference/httproute"):
        browser.get((built / "docs" / f"{page}.html").as_uri())
        found = contrast.measured(browser)
        assert len(found) > 50, page
        assert {name: ratio for name, ratio in found if ratio < contrast.ENOUGH} == {}, page


def _asked(browser: Chrome, script: str) -> Any:
    return browser.execute(Command.W3C_EXECUTE_SCRIPT, {"script": script, "args": []})["value"]


_RESULTS = """
const hosts = [...document.querySelectorAll("*")].filter((it) => it.shadowRoot);
return hosts.map((it) => it.shadowRoot.textContent).join(" ");
"""
"""The search is in shadow trees of its own."""

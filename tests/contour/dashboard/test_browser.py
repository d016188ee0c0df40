"""The dashboard in a real Chromium: what a person sees, by mouse, by keyboard, on a phone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.contour.dashboard.serving import Dashboard, proxy, served, shop
from tests.testbed import contrast, world

pytestmark = pytest.mark.browser

FIRST = world.fqdn(0)


@dataclass(frozen=True, slots=True)
class Visit:
    """A browser on a dashboard. It runs in a thread, for the dashboard is served by this loop."""

    dashboard: Dashboard
    browser: Chrome
    serving: contextlib.AsyncExitStack
    """Closed, it ends the dashboard."""

    async def do(self, action: Callable[[Chrome], Any]) -> Any:
        """What the action returns."""
        return await asyncio.to_thread(action, self.browser)

    async def open(self, page: str = "") -> None:
        """Opens a page, and waits until it hears of changes."""
        await self.do(lambda it: it.get(f"{self.dashboard.url}{page}"))
        await self.until(lambda it: text(it, "#connection") == "live")

    async def until(self, is_so: Callable[[Chrome], object]) -> None:
        """Waits until the page is so."""
        async with asyncio.timeout(60):
            while not await self.do(is_so):
                await asyncio.sleep(0.05)

    async def complaints(self) -> list[str]:
        """What the console of the browser says: refused scripts and styles, errors."""
        logged = await self.do(lambda it: it.execute("getLog", {"type": "browser"})["value"])
        return [it["message"] for it in logged if "favicon" not in it["message"]]


def text(browser: Chrome, selector: str) -> str:
    """The text of all such elements, read at once: a page that hears of a change replaces them."""
    found: str = browser.execute_script(_TEXT, selector)
    return found


_TEXT = """
return [...document.querySelectorAll(arguments[0])]
  .map((it) => (it.innerText ?? it.textContent).trim()).join(" ");
"""


@contextlib.asynccontextmanager
async def visiting(folder: Path, width: int = 1200) -> AsyncIterator[Visit]:
    """A dashboard with two hosts, and a browser for it."""
    wanted = ChromeOptions()
    wanted.binary_location = "/usr/bin/chromium"
    wanted.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    usual = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    away = (
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    )
    for it in (*usual, *away, f"--user-data-dir={folder / 'profile'}"):
        wanted.add_argument(it)
    service = Service("/usr/bin/chromedriver")
    screen = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 600}
    async with contextlib.AsyncExitStack() as serving:
        dashboard = await serving.enter_async_context(served(*shop()))
        browser = await asyncio.to_thread(lambda: Chrome(wanted, service))
        try:
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            yield Visit(dashboard, browser, serving)
        finally:
            await asyncio.to_thread(browser.quit)


async def test_one_clicks_from_a_host_to_its_endpoints(tmp_path: Path) -> None:
    async with visiting(tmp_path) as it:
        await it.open()
        await it.do(lambda page: page.find_element(By.LINK_TEXT, FIRST).click())
        await it.until(lambda page: text(page, "h1") == FIRST)
        assert "127.0.0.1:9" in await it.do(lambda page: text(page, "svg text"))
        proxies = "svg a[href*='kind=HTTPProxy']"
        await it.do(lambda page: page.find_element(By.CSS_SELECTOR, proxies).click())
        await it.until(lambda page: text(page, "h1").startswith("HTTPProxy"))
        assert FIRST in await it.do(lambda page: text(page, "table"))
        assert await it.complaints() == []


async def test_a_change_is_seen_without_a_reload(tmp_path: Path) -> None:
    async with visiting(tmp_path) as it:
        await it.open()
        await it.do(lambda page: page.find_element(By.ID, "q").send_keys("half a wo"))
        new = proxy("new", "new.example.com", "missing")
        it.dashboard.take(new)
        await it.until(lambda page: "new.example.com" in text(page, "table"))
        typed = await it.do(lambda page: page.find_element(By.ID, "q").get_attribute("value"))
        assert typed == "half a wo"
        await it.open("/objects")
        assert "Service default/missing not found" in await it.do(lambda page: text(page, "main"))
        it.dashboard.take(gone=(new,))
        await it.until(lambda page: "missing" not in text(page, "main"))


async def test_the_end_of_the_instance_is_told(tmp_path: Path) -> None:
    async with visiting(tmp_path) as it:
        await it.open()
        await it.serving.aclose()
        await it.until(lambda page: "may be old" in text(page, "#connection"))


async def test_it_can_be_used_by_keyboard_alone(tmp_path: Path) -> None:
    async with visiting(tmp_path) as it:
        await it.open()

        def press(page: Chrome, *keys: str) -> None:
            page.switch_to.active_element.send_keys(*keys)

        await it.do(lambda page: press(page, Keys.TAB))
        focused = await it.do(lambda page: page.switch_to.active_element.text)
        assert focused == "Skip to the content"
        await it.do(lambda page: press(page, Keys.ENTER))
        for _ in range(20):
            await it.do(lambda page: press(page, Keys.TAB))
            if await it.do(lambda page: page.switch_to.active_element.text) == FIRST:
                break
        await it.do(lambda page: press(page, Keys.ENTER))
        await it.until(lambda page: text(page, "h1") == FIRST)


async def test_a_focused_link_keeps_the_focus_when_something_changes(tmp_path: Path) -> None:
    async with visiting(tmp_path) as it:
        await it.open()
        focus = "document.querySelector('[data-live] tbody a').focus()"
        await it.do(lambda page: page.execute_script(focus))
        it.dashboard.take(proxy("new", "zz.example.com", "missing"))
        await it.until(lambda page: "zz.example.com" in text(page, "table"))
        assert await it.do(lambda page: page.switch_to.active_element.text) == FIRST


async def test_a_phone_scrolls_in_one_direction(tmp_path: Path) -> None:
    async with visiting(tmp_path, width=375) as it:
        for page in (
            "",
            f"{_HOST}{FIRST}",
            "/objects?all=yes",
            "/envoys",
            f"/explain?url=http://{FIRST}/",
        ):
            await it.open(page)
            found, room = await it.do(lambda browser: browser.execute_script(_WIDTHS))
            assert found <= room, page


_WIDTHS = "return [document.documentElement.scrollWidth, window.innerWidth]"


_HOST = "/host?fleet=contour&listener=ingress_http&host="
_PAGES = (
    "",
    f"{_HOST}bad.example.com",
    "/objects?all=yes",
    "/object?kind=HTTPProxy&namespace=default&name=bad",
    "/envoys",
    f"/explain?url=http://{FIRST}/",
)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_text_has_enough_contrast(tmp_path: Path, theme: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    async with visiting(tmp_path) as it:
        await it.do(lambda browser: contrast.prefer(browser, theme))
        it.dashboard.take(proxy("bad", "bad.example.com", "missing"))
        for page in _PAGES:
            await it.open(page)
            found = await it.do(contrast.measured)
            assert len(found) > 5, page
            assert {name: ratio for name, ratio in found if ratio < contrast.ENOUGH} == {}, page


async def test_a_screen_reader_finds_its_way(tmp_path: Path) -> None:
    """Every field has a label, every region a name, and there is one heading of level 1."""
    async with visiting(tmp_path) as it:
        for page in ("", "/objects?all=yes", "/envoys", "/explain"):
            await it.open(page)
            unnamed = await it.do(lambda browser: browser.execute_script(_UNNAMED))
            assert unnamed == [], page


_UNNAMED = """
const labelled = (it) => it.getAttribute("aria-label")
  || document.getElementById(it.getAttribute("aria-labelledby"));
const fields = [...document.querySelectorAll("input:not([type=hidden]), textarea")]
  .filter((it) => it.labels.length === 0);
const regions = [...document.querySelectorAll("nav, section, [role=region]")]
  .filter((it) => !labelled(it));
const headings = document.querySelectorAll("h1").length === 1 ? [] : [document.body];
return [...fields, ...regions, ...headings].map((it) => it.outerHTML.slice(0, 80));
"""

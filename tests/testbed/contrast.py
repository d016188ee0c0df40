"""The contrast between the text of a page and its background, as a browser draws both."""

import re

from selenium.webdriver import Chrome
from selenium.webdriver.remote.command import Command

ENOUGH = 4.5
"""The smallest sufficient contrast, to one (WCAG 2.2, 1.4.3)."""


def prefer(browser: Chrome, scheme: str) -> None:
    """Makes the reader's system prefer `light` or `dark` colours from now on."""
    wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)


def measured(browser: Chrome) -> list[tuple[str, float]]:
    """Each element that has text of its own, a placeholder or a value, and its contrast."""
    script = {"script": _COLOURS, "args": []}
    found: list[list[str]] = browser.execute(Command.W3C_EXECUTE_SCRIPT, script)["value"]
    return [(name, ratio(colour, grounds.split("|"))) for name, colour, grounds in found]


_COLOURS = """
const grounds = (it) => {
  const found = [];
  for (let at = it; at; at = at.parentElement) found.push(getComputedStyle(at).backgroundColor);
  const box = it.closest("svg") && it.parentElement.querySelector("rect");
  return [...(box ? [getComputedStyle(box).fill] : []), ...found].join("|");
};
const owns = (it) => [...it.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
const seen = (it) => it.checkVisibility({opacityProperty: true, visibilityProperty: true});
const every = [...document.querySelectorAll("body, body *")].filter(seen);
const name = (it) => it.outerHTML.slice(0, 80);
const colour = (it) => it.closest("svg") ? getComputedStyle(it).fill : getComputedStyle(it).color;
const texts = every.filter((it) => owns(it) || it.value)
  .map((it) => [name(it), colour(it), grounds(it)]);
const hints = every.filter((it) => it.placeholder)
  .map((it) => ["hint of " + name(it), getComputedStyle(it, "::placeholder").color, grounds(it)]);
return [...texts, ...hints];
"""


def ratio(colour: str, grounds: list[str]) -> float:
    """The contrast of a CSS colour with its backgrounds, the nearest first, on a white page."""
    ground = (255.0, 255.0, 255.0)
    for it in reversed(grounds):
        ground = _over(it, ground)
    lighter, darker = sorted(map(_luminance, (_over(colour, ground), ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


_Colour = tuple[float, float, float]


def _over(colour: str, ground: _Colour) -> _Colour:
    """What a colour, which may be transparent, looks like on a background."""
    assert colour.startswith("rgb"), f"{colour} is not understood here"
    red, green, blue, *rest = map(float, re.findall(r"[\d.]+", colour))
    share = rest[0] if rest else 1.0
    parts = zip((red, green, blue), ground, strict=True)
    one, two, three = (share * above + (1 - share) * below for above, below in parts)
    return one, two, three


def _luminance(colour: _Colour) -> float:
    parts = [it / 255 for it in colour]
    red, green, blue = (
        it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

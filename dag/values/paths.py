"""Paths of routes: which ones no request can have, because Envoy normalizes paths.

The normal form has no query and no fragment, dot segments are resolved, and exactly the characters
that need it are encoded (RFC 3986, sections 2.3, 3.3 and 5.2.4; Envoy's `normalize_path`). Envoy
normalizes other requests or answers them 400, so a route with another path never matches. Checked
with Envoy 1.40, character by character. Elsewhere: expressions (`regexes`).
"""

import re
from urllib.parse import quote, unquote

_UNSENT = re.compile(r"[^!$%&'()*+,\-./0-9:;=@A-Z\[\]_a-z~]")
_NEEDLESS = re.compile("%(?:2[Dd]|2[Ee]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])")
_DOT_SEGMENT = re.compile(r"/(?:\.|%2[Ee]){1,2}/")
_LAST_DOT_SEGMENT = re.compile(r"/(?:\.|%2[Ee]){1,2}$")


def refusal(path: str, *, is_beginning: bool = False) -> str | None:
    """Why no request can have this path, as the end of a sentence; None if one can.

    A beginning is compared as a string, so `/.` is valid: `/.well-known` begins with it.
    """
    if not path.startswith("/"):
        return "must start with /"
    if not {"?", "#"}.isdisjoint(path):
        return "must be a path alone, with neither query nor fragment"
    if _DOT_SEGMENT.search(path) or (not is_beginning and _LAST_DOT_SEGMENT.search(path)):
        return "has a dot segment, which Envoy resolves before it looks at routes"
    if found := _UNSENT.search(path):
        return f"has {found[0]!r} in it, which comes as {_encoded(found[0])}"
    if found := _NEEDLESS.search(path):
        return f"has {found[0]} in it, which Envoy reads as {unquote(found[0])!r}"
    return None


def _encoded(character: str) -> str:
    return "/" if character == "\\" else quote(character, safe="")

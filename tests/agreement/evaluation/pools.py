"""The values that worlds and requests share: few, so that they meet."""

NARROW = ("x.wild.test",)
"""Hosts that a wider one covers as well."""
BARE = "bare.test"
"""The host of a listener whose certificates only routes could bring, and none does."""
CLAIMED = ("a.test", "b.test", "c.test", "*.wild.test", *NARROW, BARE)
HOSTS = ("a.test", "b.test", "c.test", "x.wild.test", "z.wild.test", BARE)
OTHERS = ("y.x.wild.test", "nobody.test")
"""Hosts that nobody serves, or only one of the APIs."""
PATHS = (
    "/", "/a", "/a/", "/a/b", "/ab", "/a/b/c", "/b", "/b/x", "/c", "/c/1", "/c/12", "/A",
)  # fmt: skip
PREFIXES = ("/", "/a", "/a/", "/a/b", "/b", "/c")
EXPRESSIONS = ("/c/[0-9]+", "/(a|b)/.*", "/a.*", "/[^/]+")
METHODS = ("GET", "POST", "PUT", "DELETE")
NAMES = ("x-one", "x-two")
UNDERSCORED = ("x_low",)
VALUES = ("1", "2", "blue", "Blue", "bluegreen")
KEYS = ("1", "2", "blue")
"""The values that are keys of clients."""
PARAMETERS = ("q", "page")
LET_IN = ("x-let-me-in", "please")
"""The header by which the authorization server lets a request pass."""
BACKENDS = ("b0", "b1", "b2")
"""Services, and the names of the backends behind them."""
EMPTY = "empty"
"""A Service without endpoints."""
REPLACEMENTS = ("/", "/new", "/new/", "/n/m")
ORIGINS = ("https://page.test", "https://other.test")

"""What we use of google-re2, which has no types. Patterns and texts are `str` here."""

from typing import Any

class error(Exception): ...  # noqa: N801, N818

class Options:
    log_errors: bool

class _Match:
    def group(self, group: int = 0, /) -> str | None: ...

class _Regexp:
    programsize: int
    def fullmatch(self, text: str) -> _Match | None: ...
    def findall(self, text: str) -> list[Any]: ...

def compile(pattern: str, options: Options | None = None) -> _Regexp: ...
def fullmatch(pattern: str, text: str, options: Options | None = None) -> _Match | None: ...
def escape(pattern: str) -> str: ...

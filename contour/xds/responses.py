"""Responses that are made once for all streams that ask for the same; and their nonces."""

from collections.abc import Callable
from itertools import count


class Responses:
    """Those of one fleet."""

    def __init__(self) -> None:
        self._nonces = count(1)
        self._shared: dict[str, dict[object, tuple[bytes, str]]] = {}

    def nonce(self) -> str:
        return f"{next(self._nonces):x}"

    def shared(self, type_url: str, key: object, made: Callable[[str], bytes]) -> tuple[bytes, str]:
        """A response that all streams get that ask for the same before the type changes again."""
        known = self._shared.setdefault(type_url, {})
        if key not in known:
            nonce = self.nonce()
            known[key] = (made(nonce), nonce)
        return known[key]

    def forget(self, type_url: str) -> None:
        """Something of a type has changed."""
        self._shared.pop(type_url, None)

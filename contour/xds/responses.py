"""Responses that are made once for all streams with the same subscriptions, and their nonces."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from itertools import count

_MOST = 32
"""The number of cached responses of one type. Envoys in sync ask for the same resources; clients
may ask for any others, without bound."""


class Responses:
    """The responses of one fleet."""

    def __init__(self) -> None:
        self._nonces = count(1)
        # By type, those that were used last at the end.
        self._shared = defaultdict[str, OrderedDict[object, tuple[bytes, str]]](OrderedDict)

    def nonce(self) -> str:
        return f"{next(self._nonces):x}"

    def shared(self, type_url: str, key: object, made: Callable[[str], bytes]) -> tuple[bytes, str]:
        """A response for all streams that ask for the same resources before the type changes
        again."""
        known = self._shared[type_url]
        if key not in known:
            nonce = self.nonce()
            known[key] = (made(nonce), nonce)
            if len(known) > _MOST:
                known.popitem(last=False)
        known.move_to_end(key)
        return known[key]

    def forget(self, type_url: str) -> None:
        """Drops the responses of a type that has changed."""
        self._shared.pop(type_url, None)

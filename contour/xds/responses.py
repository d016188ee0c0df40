"""Responses that are made once for all streams that ask for the same; and their nonces."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from itertools import count

_MOST = 32
"""Responses of one type that are kept. Envoys in sync ask for the same; what else clients ask for
is theirs to choose, and without end."""


class Responses:
    """Those of one fleet."""

    def __init__(self) -> None:
        self._nonces = count(1)
        # By type, those that were used last at the end.
        self._shared = defaultdict[str, OrderedDict[object, tuple[bytes, str]]](OrderedDict)

    def nonce(self) -> str:
        return f"{next(self._nonces):x}"

    def shared(self, type_url: str, key: object, made: Callable[[str], bytes]) -> tuple[bytes, str]:
        """A response that all streams get that ask for the same before the type changes again."""
        known = self._shared[type_url]
        if key not in known:
            nonce = self.nonce()
            known[key] = (made(nonce), nonce)
            if len(known) > _MOST:
                known.popitem(last=False)
        known.move_to_end(key)
        return known[key]

    def forget(self, type_url: str) -> None:
        """Something of a type has changed."""
        self._shared.pop(type_url, None)

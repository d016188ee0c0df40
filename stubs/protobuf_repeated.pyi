"""The type of repeated messages in the generated stubs; there is no such module at run time.

types-protobuf lets `add` take any keyword. Here `add` is what it amounts to, the constructor, so a
misspelt field is an error.
"""

from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.internal.containers import BaseContainer
from google.protobuf.message import Message

_M = TypeVar("_M", bound=Message)

class Messages(BaseContainer[_M]):
    @property
    def add(self) -> type[_M]: ...
    def append(self, value: _M) -> None: ...
    def insert(self, key: int, value: _M) -> None: ...
    def extend(self, elem_seq: Iterable[_M]) -> None: ...
    def MergeFrom(self, other: Iterable[_M]) -> None: ...  # noqa: N802
    def remove(self, elem: _M) -> None: ...
    def pop(self, key: int = -1) -> _M: ...
    def __delitem__(self, key: int | slice) -> None: ...

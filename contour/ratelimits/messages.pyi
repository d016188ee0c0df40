# The types of the messages that are declared in `messages.py`.

from collections.abc import Iterable, Mapping
from typing import Self

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.message import Message

BUCKET: str
# The key of the entry of a descriptor that says whose requests are counted together: a word of
# Envoy's configuration, never one of a client.

SECONDS: Mapping[int, int]
# How long a unit is, in seconds, by its number (SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, WEEK).

class RateLimitPolicy(Message):
    unit: int
    requests_per_unit: int
    def __init__(self, *, unit: int = ..., requests_per_unit: int = ...) -> None: ...

class RateLimitDescriptor(Message):
    key: str
    value: str
    shadow_mode: bool
    @property
    def rate_limit(self) -> RateLimitPolicy: ...
    @property
    def descriptors(self) -> RepeatedCompositeFieldContainer[RateLimitDescriptor]: ...
    def __init__(
        self,
        *,
        key: str = ...,
        value: str = ...,
        rate_limit: RateLimitPolicy | None = ...,
        descriptors: Iterable[RateLimitDescriptor] = ...,
        shadow_mode: bool = ...,
    ) -> None: ...

class RateLimitConfig(Message):
    name: str
    domain: str
    @property
    def descriptors(self) -> RepeatedCompositeFieldContainer[RateLimitDescriptor]: ...
    def __init__(
        self,
        *,
        name: str = ...,
        domain: str = ...,
        descriptors: Iterable[RateLimitDescriptor] = ...,
    ) -> None: ...
    @classmethod
    def FromString(cls, s: bytes) -> Self: ...  # noqa: N802

class Entry(Message):
    key: bytes
    value: bytes

class Addend(Message):
    value: int

class Descriptor(Message):
    @property
    def entries(self) -> RepeatedCompositeFieldContainer[Entry]: ...
    @property
    def hits_addend(self) -> Addend: ...

class RateLimitRequest(Message):
    domain: str
    hits_addend: int
    @property
    def descriptors(self) -> RepeatedCompositeFieldContainer[Descriptor]: ...
    @classmethod
    def FromString(cls, s: bytes) -> Self: ...  # noqa: N802

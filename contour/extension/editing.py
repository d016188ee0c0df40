"""Messages inside an `Any`, as Envoy's filters and transport sockets are configured."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from betterproto2 import Message
from envoy_data_plane.google.protobuf import Any as TypedConfig

_M = TypeVar("_M", bound=Message)


def packed(message: Message) -> TypedConfig:
    """The message as the configuration of an extension point."""
    return TypedConfig.pack(message)


@contextmanager
def edited(config: TypedConfig, of: type[_M]) -> Generator[_M]:
    """The message that a configuration holds, to be changed in place:

        with edited(filter.typed_config, HttpConnectionManager) as manager:
            manager.http_filters.insert(0, ...)

    Without a change its bytes stay. Raises TypeError if it holds another type.
    """
    expected = packed(of()).type_url
    if config.type_url.rpartition("/")[2] != expected.rpartition("/")[2]:
        raise TypeError(f"{config.type_url} is not {expected}")
    message = of.parse(config.value)
    before = bytes(message)
    yield message
    if (after := bytes(message)) != before:
        config.value = after

"""The HTTP filters of ours, and their order.

Both are fixed Lua texts: no string of a tenant is ever part of one. The first answers 421 to a
request whose Host is not the name its connection was opened for; else a connection to one host,
with its client certificates and TLS versions, would reach every other (Contour does the same). The
second names the table that holds the host, as `shards` places it, and lets Envoy choose again.

Envoy judges upgrades by the route that it chose first, and without a table it chose none. So the
second filter judges them, by what the route says in its metadata, and refuses them as Envoy does.
"""

import re
from collections.abc import Iterable

from envoy.extensions.filters.http.lua.v3 import lua_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from google.protobuf import message

from contour.envoy import encoding, shards

_HOST = """
local function host_of(handle)
  local host = string.lower(handle:headers():get(":authority") or "")
  return (string.gsub(host, ":%d+$", ""))
end
"""

_SAME_NAME = """
function envoy_on_request(handle)
  local host = host_of(handle)
  if host ~= string.lower(handle:streamInfo():requestedServerName()) then
    handle:respond({[":status"] = "421"}, "misdirected request")
  end
end
"""

_TABLE = """
local function hashed(name)
  local result = 0
  for i = 1, #name do
    result = (result * {multiplier} + string.byte(name, i)) % {modulus}
  end
  return result
end

local function choose(handle, kind, name, tables)
  local table = string.format("{listener}/%s%d", kind, hashed(name) % tables)
  handle:headers():replace("{header}", table)
  handle:clearRouteCache()
end

local function is_found(handle)
  local metadata = handle:metadata() -- makes Envoy choose the route
  return handle:streamInfo():routeName() ~= "{marker}", metadata
end

local function is_allowed(handle, metadata)
  local upgrade = handle:headers():get("upgrade")
  return upgrade == nil or string.lower(upgrade) == metadata:get("{upgrade}")
end

function envoy_on_request(handle)
  local host = host_of(handle)
  if #host > {longest} then
    host = string.sub(host, -{longest})
  end
  choose(handle, "", host, {exact})
  local found, metadata = is_found(handle)
  if not found then
    choose(handle, "wild/", string.match(host, "^.*%.([^.]+%.[^.]+)$") or host, {wild})
    found, metadata = is_found(handle)
  end
  if found and not is_allowed(handle, metadata) then
    handle:respond({{[":status"] = "403"}}, "upgrade failed")
  end
end
"""

_OURS = re.compile(r"[a-z0-9_-]+")


def plain(listener: str, *, sharded: bool) -> Iterable[hcm_pb2.HttpFilter]:
    """For plain HTTP."""
    if sharded:
        yield _lua(shards.FILTER, _table_text(listener))
    yield _router()


def secure(listener: str, *, sharded: bool) -> Iterable[hcm_pb2.HttpFilter]:
    """For TLS connections that named a host we know."""
    yield _lua("contour.same_name", _HOST + _SAME_NAME)
    yield from plain(listener, sharded=sharded)


def default() -> Iterable[hcm_pb2.HttpFilter]:
    """For TLS connections that named none: their routes hold the one host `*`."""
    yield _router()


def _table_text(listener: str) -> str:
    if not _OURS.fullmatch(listener):
        raise ValueError(f"{listener!r} is not the name of a listener")
    fixed = _TABLE.format(
        longest=shards.LONGEST_HOST,
        multiplier=shards.MULTIPLIER,
        modulus=shards.MODULUS,
        header=shards.HEADER,
        listener=listener,
        marker=shards.MARKER,
        upgrade=shards.UPGRADE,
        exact=shards.EXACT,
        wild=shards.WILD,
    )
    return _HOST + fixed


def _lua(name: str, text: str) -> hcm_pb2.HttpFilter:
    content = lua_pb2.Lua()
    content.default_source_code.inline_string = text
    return _filter(name, content)


def _router() -> hcm_pb2.HttpFilter:
    return _filter("envoy.filters.http.router", router_pb2.Router())


def _filter(name: str, content: message.Message) -> hcm_pb2.HttpFilter:
    return hcm_pb2.HttpFilter(name=name, typed_config=encoding.packed(content))

"""The two HTTP filters of ours that come before a route is chosen.

Both are fixed Lua texts: no string of a tenant is ever part of one. The first answers 421 to a
request whose Host is not the name its connection was opened for; else a connection to one host,
with its client certificates and TLS versions, would reach every other (Contour does the same). The
second names the table that holds the host, as `shards` places it, and lets Envoy choose again.

Envoy judges upgrades by the route that it chose first, and without a table it chose none. So the
second filter judges them, by what the route says in its metadata, and refuses them as Envoy does.
"""

import re

from envoy.extensions.filters.http.lua.v3 import lua_pb2 as pb

from contour.envoy import shards

TABLE = shards.FILTER
SAME_NAME = "contour.same_name"
CERTIFICATE = "contour.certificate"

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

_CERTIFICATE = """
function envoy_on_request(handle)
  if not handle:connection():ssl():peerCertificatePresented() then
    handle:respond({[":status"] = "400"}, "no client certificate")
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


def same_name() -> pb.Lua:
    """Answers 421 where Host and server name differ."""
    return _lua(_HOST + _SAME_NAME)


def certificate() -> pb.Lua:
    """Answers 400 to clients without a certificate, where Envoy lets any of them in or none."""
    return _lua(_CERTIFICATE)


def table(listener: str) -> pb.Lua:
    """Names the table of a request's host on this listener."""
    return _lua(_table_text(listener))


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


def _lua(text: str) -> pb.Lua:
    result = pb.Lua()
    result.default_source_code.inline_string = text
    return result

"""The HTTP filters of ours that come before a route is chosen: fixed Lua texts, joined of pieces.

No string of a tenant is ever part of one. The first names the table that holds the host of a
request, as `shards` places it, and lets Envoy choose again. The second looks at the route: behind
TLS it answers 421 to a request for a host other than its connection was opened for; else a
connection to one host, with its client certificates and TLS versions, would reach every other
(Contour does the same). What a host says of server names is in its metadata (`virtual_hosts`); one
that says nothing wants its own. Whatever it says, TLS must have been terminated on its own terms.

Envoy judges upgrades by the route that it chose first, and without a table it chose none. So the
second script judges them, by what the route says in its metadata, and refuses them as Envoy does.
A script can have Envoy choose a route once, and sees the metadata of that one ever after; so what
looks at the next choice is the next script.
"""

import re

from envoy.extensions.filters.http.lua.v3 import lua_pb2 as pb

from contour.envoy import encoding, shards

CERTIFICATE = "contour.certificate"
TABLE = shards.FILTER

_HOST = """
local function host_of(handle)
  local host = string.lower(handle:headers():get(":authority") or "")
  return (string.gsub(host, ":%d+$", ""))
end
"""

_FIND = """
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

function envoy_on_request(handle)
  local host = host_of(handle)
  if #host > {longest} then
    host = string.sub(host, -{longest})
  end
  choose(handle, "", host, {exact})
  handle:metadata() -- makes Envoy choose the route
  if handle:streamInfo():routeName() == "{marker}" then
    choose(handle, "wild/", string.match(host, "^.*%.([^.]+%.[^.]+)$") or host, {wild})
  end
end
"""

_FOUND = """
local function is_found(handle)
  handle:metadata() -- makes Envoy choose the route
  return handle:streamInfo():routeName() ~= ""
end
"""

_UPGRADE = """
local function refuse_upgrade(handle)
  local asked = handle:headers():get("upgrade")
  if asked == nil then
    return
  end
  local allowed = handle:metadata():get("{upgrade}")
  if string.lower(asked) ~= allowed then
    handle:respond({{[":status"] = "403"}}, "upgrade failed")
  end
end
"""

_NAMES = """
local function covers(pattern, name)
  if string.sub(pattern, 1, 1) ~= "*" then
    return pattern == name
  end
  local suffix = string.sub(pattern, 2)
  return suffix == "" or #name > #suffix and string.sub(name, -#suffix) == suffix
end

local function is_for(names, name)
  if not covers(names.pattern, name) then
    return false
  end
  for _, exception in ipairs(names.exceptions) do
    if covers(exception, name) then
      return false
    end
  end
  return true
end

local function names_of(handle)
  local names = handle:virtualHost():metadata():get("names")
  return names
end

local function is_misdirected(handle, host)
  local asked = string.lower(handle:streamInfo():requestedServerName())
  if host == asked then
    return false
  end
  local names = names_of(handle)
  if names == nil or names.terms ~= "{terms}" then
    return true
  end
  return not (is_for(names, host) and is_for(names, asked))
end

local function refuse(handle)
  handle:respond({{[":status"] = "421"}}, "misdirected request")
end
"""

_PLAIN = """
function envoy_on_request(handle)
  if handle:headers():get("upgrade") ~= nil and is_found(handle) then
    refuse_upgrade(handle)
  end
end
"""

_SECURE = """
function envoy_on_request(handle)
  if not is_found(handle) then
    return
  end
  local ok, wrong = pcall(is_misdirected, handle, host_of(handle)) -- an error opens nothing
  if wrong or not ok then
    refuse(handle)
  else
    refuse_upgrade(handle)
  end
end
"""

# Whoever names no host we know reaches the hosts that allow it, and what stands for all others.
_DEFAULT = """
function envoy_on_request(handle)
  local names = is_found(handle) and names_of(handle)
  if not names then
    handle:headers():replace("{header}", "{default}")
    handle:clearRouteCache()
  elseif names.pattern ~= "*" or names.terms ~= nil and names.terms ~= "{terms}" then
    refuse(handle)
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

_OURS = re.compile(r"[a-z0-9_-]+")


def table(listener: str) -> pb.Lua:
    """Names the table of a request's host on this listener."""
    return _lua(_HOST + _find(listener))


def plain() -> pb.Lua:
    """What a route allows on plain HTTP."""
    return _lua(_FOUND + _upgrade() + _PLAIN)


def secure(terms: str) -> pb.Lua:
    """What a route allows on TLS connections on these terms that named a host we know."""
    return _lua(_HOST + _FOUND + _names(terms) + _upgrade() + _SECURE)


def default(listener: str, terms: str) -> pb.Lua:
    """Where TLS connections lead that named no host we know; `plain` comes after it."""
    fixed = _DEFAULT.format(
        header=shards.HEADER, default=shards.default_table(listener), terms=terms
    )
    return _lua(_FOUND + _names(terms) + fixed)


def certificate() -> pb.Lua:
    """Answers 400 to clients without a certificate, where Envoy lets any of them in or none."""
    return _lua(_CERTIFICATE)


def _names(terms: str) -> str:
    if not _OURS.fullmatch(terms):
        raise ValueError(f"{terms!r} is not a hash")
    return _NAMES.format(terms=terms)


def _upgrade() -> str:
    return _UPGRADE.format(upgrade=shards.UPGRADE)


def _find(listener: str) -> str:
    if not _OURS.fullmatch(listener):
        raise ValueError(f"{listener!r} is not the name of a listener")
    return _FIND.format(
        longest=shards.LONGEST_HOST,
        multiplier=shards.MULTIPLIER,
        modulus=shards.MODULUS,
        header=shards.HEADER,
        listener=listener,
        marker=shards.MARKER,
        exact=shards.EXACT,
        wild=shards.WILD,
    )


def _lua(text: str) -> pb.Lua:
    result = pb.Lua()
    result.default_source_code.inline_string = encoding.script(text)
    return result

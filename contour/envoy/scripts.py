"""Our own HTTP filters, which come before the others: fixed Lua texts, made of pieces.

No string of a tenant is ever part of one, and an ordinary request passes none: Envoy finds its
table by its host, behind TLS together with the server name (`shards`), and the table disables the
filters. Both run for all other requests, because no route is known when their filters are created
(`slots`): hosts in capitals or with another port, hosts of wildcards, unknown hosts, and TLS
connections that were opened for another name.

The first refuses requests that name no host, or several (RFC 9112, section 3.2; RFC 9110, section
4.2.4), sets the header to the table that has the host of a request (`shards`), and lets Envoy
choose the route again. The second checks the chosen route: behind TLS it answers 421 to a request
for another host than its connection was opened for; otherwise a connection to one host, with its
client certificates and TLS versions, would reach every other (Contour does the same). What a host
requires of connections is in its metadata (`virtual_hosts`):

    its metadata        on a connection that named a host       on the default chain
    nothing             the server name is the host             never
    `guard`             ... and these are the chain's terms     -
    `names`             or both names are of this listener,     -
                        and the certificate is the same
    `open`              -                                       on these terms, or any

A guard that is switched on also applies to open connections, because their chain has other terms.
Such a client is told to retry on a new connection. Hosts with a guard enable the second filter for
every request.

Envoy decides about upgrades by the route that it chose first, and without a table it chose none.
Then the second script decides about them, by the route's metadata, and refuses them as Envoy does.
TRACE is refused unless a route asks for it, since a backend's response may show what proxies added
(RFC 9110, section 9.3.8): no other route matches it (`routes`), and the script answers 405. A
script can make Envoy choose a route once, and from then on sees the metadata of that route; so the
next choice is checked by the next script.
"""

import re

from envoy.extensions.filters.http.lua.v3 import lua_pb2 as pb
from google.protobuf.message import Message

from contour.envoy import encoding, names, shards
from contour.envoy.conditional import HeaderPattern, only_if
from contour.envoy.guards.authorization import UNASKED

CERTIFICATE = "contour.certificate"
TABLE = shards.FILTER
ADMISSION = shards.ADMISSION

_HOST = """
local function host_of(handle)
  local host = string.lower(handle:headers():get(":authority") or "")
  return (string.gsub(host, ":%d+$", ""))
end
"""

_REFUSED = """
local function is_refused(handle, host)
  if string.find(host, "[,@]") or string.sub(host, -1) == ":" then
    handle:respond({[":status"] = "400"}, "bad host")
    return true
  end
  return false
end
"""

_HOSTS = """
function envoy_on_request(handle)
  is_refused(handle, host_of(handle))
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
  handle:headers():replace("{header}", "{listener}/" .. kind .. hashed(name) % tables)
  handle:clearRouteCache()
  handle:metadata() -- makes Envoy choose the route
end

function envoy_on_request(handle)
  local host = host_of(handle)
  if is_refused(handle, host) then
    return
  end
  if #host > {longest} then
    host = string.sub(host, -{longest})
  end
  choose(handle, "", host, {exact})
  if handle:streamInfo():routeName() == "{marker}" then
    choose(handle, "wild/", string.match(host, "^.*%.([^.]+%.[^.]+)$") or host, {wild})
  elseif handle:virtualHost():metadata():get("{asks}") == nil then
    handle:streamInfo():dynamicMetadata():set("{place}", "{key}", "{value}")
  end
end
"""

_FOUND = """
local function is_found(handle)
  handle:metadata() -- makes Envoy choose the route
  return handle:streamInfo():routeName() ~= ""
end
"""

_ALLOWED = """
local function refuse_what_the_route_does(handle)
  local upgrade, method = handle:headers():get("upgrade"), handle:headers():get(":method")
  if method == "TRACE" and not is_found(handle) then
    handle:respond({{[":status"] = "405"}}, "method not allowed")
  elseif upgrade ~= nil and is_found(handle)
      and string.lower(upgrade) ~= handle:metadata():get("{upgrade}") then
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
"""

_TOLD = """
local function asked_of(handle)
  return string.lower(handle:streamInfo():requestedServerName())
end

local function told_of(handle)
  handle:metadata() -- makes Envoy choose the route
  return handle:virtualHost():metadata()
end
"""

_JUDGED = """
local function refuse(handle)
  if host_of(handle) == asked_of(handle) then
    handle:streamInfo():drainConnectionUponCompletion() -- a new one may reach the host
  end
  handle:respond({[":status"] = "421"}, "misdirected request")
end

function envoy_on_request(handle)
  local ok, wrong = pcall(is_misdirected, handle) -- an error opens nothing
  if ok and not wrong then
    refuse_what_the_route_does(handle)
  elseif not ok or is_found(handle) then
    refuse(handle)
  end
end
"""

_PLAIN = """
function envoy_on_request(handle)
  refuse_what_the_route_does(handle)
end
"""

_SECURE = """
local function is_misdirected(handle)
  local told = told_of(handle)
  local guard = told:get("{guard}")
  if guard ~= nil and guard ~= "{own_guard}" then
    return true
  end
  local host, asked = host_of(handle), asked_of(handle)
  if host == asked then
    return false
  end
  local names = told:get("{names}")
  if names == nil or names.terms ~= "{terms}" then
    return true
  end
  return not (is_for(names, host) and is_for(names, asked))
end
"""

# Connections without a known server name reach the hosts that allow it, and the stand-in for all
# others.
_DEFAULT = """
local function is_misdirected(handle)
  local open = told_of(handle):get("{open}")
  return open ~= "{any}" and open ~= "{own_guard}" and open ~= "{terms}"
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


_RARE = (HeaderPattern("upgrade", ".*"), HeaderPattern(":method", "TRACE"))
"""Requests that not every route allows."""


def hosts() -> pb.Lua:
    """Refuses requests that name no host, or several, where there is only one table.

    No route matches such a request (`matches`); the script runs for those that none matches.
    """
    return _lua(_HOST + _REFUSED + _HOSTS)


def table(listener: str) -> pb.Lua:
    """Refuses the same requests, and names the table of a request's host on this listener."""
    return _lua(_HOST + _REFUSED + _find(listener))


def plain() -> Message:
    """Checks what a route allows on plain HTTP."""
    return only_if(_RARE, _lua(_FOUND + _allowed() + _PLAIN))


def secure(terms: names.Terms) -> pb.Lua:
    """Checks what a host allows on TLS connections on these terms with a known server name."""
    return _lua(_HOST + _FOUND + _allowed() + _TOLD + _NAMES + _judging(_SECURE, terms) + _JUDGED)


def default(terms: names.Terms) -> pb.Lua:
    """Checks what a host allows on TLS connections on these terms without a known server name."""
    return _lua(_HOST + _FOUND + _allowed() + _TOLD + _judging(_DEFAULT, terms) + _JUDGED)


def certificate() -> pb.Lua:
    """Answers 400 to clients without a certificate, where Envoy accepts any certificate or none."""
    return _lua(_CERTIFICATE)


def _judging(text: str, terms: names.Terms) -> str:
    for it in terms:
        if not _OURS.fullmatch(it):
            raise ValueError(f"{it!r} is not a hash")
    return text.format(
        guard=shards.GUARD,
        names=shards.NAMES,
        open=shards.OPEN,
        any=shards.ANY,
        own_guard=terms.guard,
        terms=terms.whole,
    )


def _allowed() -> str:
    return _ALLOWED.format(upgrade=shards.UPGRADE)


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
        asks=shards.ASKS,
        place=UNASKED.place,
        key=UNASKED.key,
        value=UNASKED.value,
    )


def _lua(text: str) -> pb.Lua:
    result = pb.Lua()
    result.default_source_code.inline_string = encoding.script(text)
    return result

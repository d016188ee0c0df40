"""Rewrites attributes of cookies that backends set, with a fixed Lua text.

Users' values are passed to it as data (`filter_context`), never as a part of the text. Semicolons
and control characters, which would end an attribute, are refused by the rules, and again here.

The text is in the routes that use it, because a filter with a text takes 190 KB in each filter
chain, used or not.
"""

import re
from collections.abc import Iterable, Mapping

from envoy.extensions.filters.http.lua.v3 import lua_pb2 as pb

from contour.envoy import encoding
from dag import nodes

NAME = "contour.cookies"

_TEXT = """
local function trimmed(text)
  return (string.gsub(string.gsub(text, "^%s+", ""), "%s+$", ""))
end

local function parts_of(cookie)
  local result = {}
  for part in string.gmatch(cookie, "[^;]+") do
    table.insert(result, trimmed(part))
  end
  return result
end

local function name_of(part)
  return string.lower(trimmed(string.match(part, "^[^=]*")))
end

local function with(parts, name, value)
  local result = {}
  for number, part in ipairs(parts) do
    if number == 1 or name_of(part) ~= string.lower(name) then
      table.insert(result, part)
    end
  end
  if value ~= nil then
    table.insert(result, value == "" and name or name .. "=" .. value)
  end
  return result
end

local function rewritten(cookie, rules)
  local parts = parts_of(cookie)
  local rule = rules:get(trimmed(string.match(parts[1] or "", "^[^=]*")))
  if rule == nil then
    return cookie
  end
  if rule.path then parts = with(parts, "Path", rule.path) end
  if rule.domain then parts = with(parts, "Domain", rule.domain) end
  if rule.same_site then parts = with(parts, "SameSite", rule.same_site) end
  if rule.secure ~= nil then parts = with(parts, "Secure", rule.secure and "" or nil) end
  return table.concat(parts, "; ")
end

function envoy_on_response(handle)
  local rules = handle:filterContext()
  local headers = handle:headers()
  local found = {}
  for name, value in pairs(headers) do
    if name == "set-cookie" then
      table.insert(found, rewritten(value, rules))
    end
  end
  if #found == 0 then
    return
  end
  headers:remove("set-cookie")
  for _, cookie in ipairs(found) do
    headers:add("set-cookie", cookie)
  end
end
"""

_SHORT = encoding.script(_TEXT)
_VALUE = re.compile(r"[^\x00-\x1f;\x7f]*")  # RFC 6265, "path-value"


def installed() -> pb.Lua:
    """A filter without a text does nothing."""
    return pb.Lua()


def policy(rewrites: Iterable[nodes.CookieRewrite]) -> pb.LuaPerRoute:
    """The rewrites by name of the cookie; of several for one attribute, the last."""
    result = pb.LuaPerRoute()
    result.source_code.inline_string = _SHORT
    for rewrite in rewrites:
        result.filter_context.get_or_create_struct(rewrite.name).update(_rule(rewrite))
    return result


def _rule(node: nodes.CookieRewrite) -> Mapping[str, str | bool]:
    texts = {"path": node.path, "domain": node.domain, "same_site": node.same_site}
    result: dict[str, str | bool] = {}
    for key, text in texts.items():
        if text is not None:
            if not _VALUE.fullmatch(text):
                raise ValueError(f"{text!r} cannot be an attribute of a cookie")
            result[key] = text
    if node.secure is not None:
        result["secure"] = node.secure
    return result

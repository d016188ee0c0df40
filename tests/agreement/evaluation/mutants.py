"""The evaluator with one of its steps taken away, to be found wrong by Envoy's answers.

Nothing is written to files: a mutant is a second copy of the package in memory, of which the text
of one module differs. `hack/bench evaluation-mutants` holds each of them against real answers.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from types import CodeType, ModuleType
from typing import NamedTuple

from dag.engine.incremental import Engine
from dag.evaluation.requests import Request
from dag.evaluation.trace import Trace
from dag.fleetnames import DEFAULT_FLEET
from tests.agreement.evaluation import comparing
from tests.testbed import load

PACKAGE = "dag.evaluation"


class Mutant(NamedTuple):
    """A step that is taken away: a text that stands once in a module, and what replaces it."""

    module: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.module}: {' '.join(self.before.split())}"


_EVALUATOR = {
    "found = normalization.normal(asked, settings)": "found = asked",
    "clienttraffic.overlaid(places.settings_of(world), traffic)": "places.settings_of(world)",
    "if seen.path == traffic.health_path and seen.upgrade is None:": "if False:",
    "places.misdirection(world, at, host, request) if request.is_secure else None": "None",
    "found = _unserved(world, at, host, seen)": "found = host",
    "if not request.is_secure:\n        return _unrouted": "if False:\n        return _unrouted",
    "return _unrouted(answer, request) if is_own and name != hostnames.EVERY else answer":
        "return answer",
    "if refused := _refused_protocol(route, request):":
        "if False and (refused := _refused_protocol(route, request)):",
    "refused = guards.refusal(host, route, request, trace)": "refused = None",
    "return actions.refused(refused, route) if is_routed else refused": "return refused",
    "refused.cause and refused.status != logins.REDIRECT": "refused.cause",
    "places.reached(world, actions.answer(host.host, route, request))":
        "actions.answer(host.host, route, request)",
    'if request.method == "TRACE":': "if False:",
    'if is_allowed and upgrade.lower() == "websocket":': "if False:",
}  # fmt: skip

_ACTIONS = {
    "return Answer(status, body=as_text(body), route=route, response_headers=changed)":
        "return Answer(status, route=route, response_headers=changed)",
    "location = _location(redirect, route.match.path, request, host)": "location = request.path",
    "Answer(redirect.status, cause, location, route=route, response_headers=changed)":
        "Answer(redirect.status, cause, location, route=route)",
    "_changes([backend.request_headers, route.request_headers])": "()",
    "_changes([backend.response_headers, route.response_headers])": "()",
    "changed = _changes([route.response_headers])": "changed = ()",
    "return replace(found, response_headers=_changes(policies))": "return found",
    "*(of_backends if len(of_backends) == 1 else ()), ": "",
    "if not isinstance(route.action, nodes.Forward):": "if False:",
    "backends = [it for it in node.backends if it.weight]": "backends = list(node.backends)",
    "0 if backend.cluster else node.missing": "0 if backend.cluster else 502",
    "if rewrite.host:\n": "if False:\n",
    "if rewrite.host_header:": "if False:",
    "dict(changed).get(name, first)": "first",
    "if rewrite.full_path is not None:\n": "if False:\n",
    "elif rewrite.prefix is not None:": "elif False:",
    "return f\"{kept}/{rest}\"": "return kept + rest",
    "return kept + rest if kept else \"/\" + rest.lstrip(\"/\")": "return kept + rest",
    "keeps_query = \"?\" not in node.full_path": "keeps_query = False",
    "path = _with_prefix(bare, matched, node.prefix) + question + query": "pass",
    "scheme = node.scheme or request.told_scheme": "scheme = request.scheme",
    "port = f\":{node.port}\" if node.port is not None else \"\"": "port = \"\"",
    "if node.host is not None:": "if False:",
    "if node.scheme is not None and node.port is None and not host.startswith(\"*\"):": "if False:",
    "yield from ((name.lower(), None) for name in it.remove)": "pass",
}  # fmt: skip

_GUARDS = {
    "limited = is_limited(host, route)": "limited = False",
    "if isinstance(found.cors, nodes.Cors) and is_forwarded and _is_preflight(request):":
        "if False:",
    "and is_forwarded and _is_preflight": "and _is_preflight",
    "is_allowed = _admits(node, request)": "is_allowed = True",
    "return is_listed == (node.action == \"ALLOW\")": "return is_listed",
    "if isinstance(found.jwt, nodes.Jwt) and _is_lacking(found.jwt, request):": "if False:",
    "decided = access.decision(found.access, request)": "decided = None",
    "if (request.header(\"authorization\") or \"\").startswith(\"Bearer \"):":
        "if request.header(\"authorization\"):",
    "return replace(route, **kept)": "return route",
}  # fmt: skip

_ERRORPAGES = {
    "status = page.status or found.status": "status = found.status",
    "return share._replace(status=page.status or share.status, response_headers=changes)":
        "return share",
    "return 200 if request.is_call else status": "return status",
}  # fmt: skip

_CLIENTS = {
    "written[_SCHEME] = request.scheme": "pass",
    "(is_first and not at.hops) or _SCHEME not in given": "_SCHEME not in given",
}

_AUTHENTICATION = {
    "if node.key_sources and not any(_shows(it, request) for it in node.key_sources):":
        "if False:",
    "if node.has_passwords and not _has_password(request):": "if False:",
    "return request.header(source.name) is not None": "return False",
    "return any(unquote_plus(name) == source.name for name, _ in request.queries())":
        "return False",
}  # fmt: skip

_LOGINS = {
    "if request.bare_path == node.logout:": "if False:",
    "if request.bare_path == node.callback:": "if False:",
    "if any(matching.is_header(it, request.values(it.name)) for it in node.denied):": "if False:",
}

_ORIGINS = {
    "if request.method not in _CHANGING:": "if False:",
    "if source == request.host or any": "if any",
    "any(_is_one(it, source) for it in node.origins)": "False",
    " or _host(request.header(\"referer\") or \"\")": "",
}  # fmt: skip

_ACCESS = {
    "if rule.methods and request.method not in rule.methods:": "if False:",
    "if is_there == rule.is_other_path:": "if not is_there:",
    "if rule.ranges and not any(is_from(it, request) for it in rule.ranges):": "if False:",
    "return all(_has(request, name, values, rule.action) for name, values in rule.headers)":
        "return True",
    "return Decision(node.default == \"ALLOW\",": "return Decision(True,",
    "return Decision(rule.action == \"ALLOW\",": "return Decision(True,",
    "{value} if action == \"ALLOW\" else": "{value} if action else",
}  # fmt: skip

_MATCHING = {
    "if not is_path(match.path, request.bare_path):": "if False:",
    "if match.method and request.method != match.method:": "if False:",
    "if request.method == \"TRACE\" and not match.method:": "if False:",
    "if not is_header(wanted, request.values(wanted.name)):": "if False:",
    "if not is_query(query, request):": "if False:",
    "if match.is_grpc and not request.is_call:": "if False:",
    "return path == wanted.path or path.startswith(wanted.path + \"/\")":
        "return path.startswith(wanted.path)",
    "if not values and wanted.missing_as_empty:": "if False:",
    "return bool(values) != wanted.inverted": "return bool(values)",
    "any(is_value(wanted.value, it) for it in values) != wanted.inverted":
        "any(is_value(wanted.value, it) for it in values)",
    "return any(is_value(wanted.value, it) for it in values)":
        "return all(is_value(wanted.value, it) for it in values)",
    "value = wanted.value.lower() if wanted.ignore_case else wanted.value": "value = wanted.value",
    "found = text.lower() if wanted.ignore_case else text": "found = text",
    "return found.endswith(value)": "return value in found",
    "return found.startswith(value)": "return value in found",
    "return regexes.matches(wanted.value, text)":
        "return regexes.matches(f'(?s).*({wanted.value}).*', text)",
}  # fmt: skip

_NORMALIZATION = {
    "settings.edge.underscores == \"Reject\" and any(\"_\" in name for name, _ in request.headers)":
        "False",
    "if wanted == \"Reject\":": "if False:",
    "path = _normal_path(_unescaped(request.path), settings)": "pass",
    "if request.is_call:": "if False:",
    "return Answer(400, \"the request names several hosts, or no proper one\")": "pass",
    "host = _without_dot(request.host) if settings.strip_trailing_host_dot else request.host":
        "host = request.host",
    "headers = tuple(it for it in headers if \"_\" not in it[0])": "pass",
    "if request.method not in _METHODS and not request.is_http3:": "if False:",
    "bare = _PARAMETERS.sub(r\"\\1\", bare).replace(\"\\\\\", \"/\")": "pass",
    "bare = _UNSAFE.sub(_encoded, _without_dots(_ESCAPE.sub(_decoded, bare)))": "pass",
    "bare = re.sub(\"/{2,}\", \"/\", bare)": "pass",
}  # fmt: skip

_PLACES = {
    "for name in hostnames.covering(request.name):": "for name in (request.name,):",
    "if is_misdirected(world, key):": "if False:",
    "if name == hostnames.EVERY and request.asked != request.name:": "if False:",
    "if tls is None or not _asks_the_same(tls, connection.tls):": "if False:",
    "return None if _shares(host, request, tls == connection.tls) else refused": "return refused",
    "and names.pattern == hostnames.EVERY and tls == other": "and False",
    "return _asks_the_same(tls, other)": "return False",
    "response_headers=changed.pop() if len(changed) == 1 else answer.response_headers,": "",
    "if request.name == request.asked:\n        return None": "if False:\n        return None",
    "if share.cluster is None or is_ready(world, share.cluster):": "if True:",
}

_REQUESTS = {
    "self.host.lower().rpartition(\":\")[0] if has_port(self.host) else self.host.lower()":
        "self.host.lower()",
    "return self.path.partition(\"?\")[0]": "return self.path",
    " or kind.startswith(\"application/grpc+\")": "",
    "wanted if is_asked and wanted is not None and wanted.lower() != \"h2c\" else None": "wanted",
}  # fmt: skip

MUTANTS: Sequence[Mutant] = tuple(
    Mutant(module, before, after)
    for module, steps in {
        "evaluator": _EVALUATOR,
        "clients": _CLIENTS,
        "errorpages": _ERRORPAGES,
        "actions": _ACTIONS,
        "guards": _GUARDS,
        "access": _ACCESS,
        "authentication": _AUTHENTICATION,
        "logins": _LOGINS,
        "origins": _ORIGINS,
        "matching": _MATCHING,
        "normalization": _NORMALIZATION,
        "places": _PLACES,
        "requests": _REQUESTS,
    }.items()
    for before, after in steps.items()
)

Evaluate = Callable[[Engine, str, Request], Trace]


class Court:
    """Holds all mutants against answers; who contradicts one is out."""

    def __init__(self, mutants: Sequence[Mutant] = MUTANTS) -> None:
        self.left: dict[Mutant, Evaluate] = {it: evaluator(it) for it in mutants}

    def judge(self, engine: Engine, asked: Request, answer: load.Answer | None) -> None:
        """An answer of Envoy, to which the evaluator itself agrees."""
        for it in [
            it for it, evaluate in self.left.items() if _is_wrong(evaluate, engine, asked, answer)
        ]:
            del self.left[it]


def _is_wrong(
    evaluate: Evaluate, engine: Engine, asked: Request, answer: load.Answer | None
) -> bool:
    try:
        return bool(comparing.difference(evaluate(engine, DEFAULT_FLEET, asked), asked, answer))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return True


def evaluator(mutant: Mutant) -> Evaluate:
    """The function of a copy of the package that lacks a step."""
    with _own_modules(PACKAGE), _mutating(mutant):
        evaluate: Evaluate = importlib.import_module(f"{PACKAGE}.evaluator").evaluate
        own: type[Request] = importlib.import_module(f"{PACKAGE}.requests").Request

    def evaluated(engine: Engine, fleet: str, asked: Request) -> Trace:
        values = (getattr(asked, it.name) for it in fields(asked))
        return evaluate(engine, fleet, own(*values))

    return evaluated


@contextmanager
def _own_modules(package: str) -> Iterator[None]:
    """What is imported of a package within is a copy of its own."""
    parent, _, name = package.rpartition(".")
    before = {it: sys.modules.pop(it) for it in _modules(package)}
    try:
        yield
    finally:
        for it in _modules(package):
            del sys.modules[it]
        sys.modules.update(before)
        setattr(sys.modules[parent], name, before[package])


def _modules(package: str) -> list[str]:
    return [it for it in sys.modules if it == package or it.startswith(f"{package}.")]


@contextmanager
def _mutating(mutant: Mutant) -> Iterator[None]:
    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module that differs."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """As the usual finder, with another loader."""
        if fullname != f"{PACKAGE}.{self._mutant.module}":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self._mutant)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the changed text, without a cache."""

    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """Of the text with the one change."""
        text = self.get_data(self.path).decode()
        if text.count(self._mutant.before) != 1:
            raise ValueError(f"the text of a mutant does not stand once: {self._mutant}")
        changed = text.replace(self._mutant.before, self._mutant.after)
        return compile(changed, self.path, "exec")

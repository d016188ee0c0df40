"""The routes of a host, from the paths of all Ingresses that name it; paths that are left out are
closed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from contour.conversion.ingressnginx import paths, rewrites
from contour.conversion.ingressnginx.given import PREFIX, Given
from contour.conversion.ingressnginx.paths import Match, UnconvertibleError
from contour.conversion.ingressnginx.rewrites import Rewrite
from contour.conversion.ingressnginx.routes import Place
from contour.conversion.ingressnginx.routes import routes as routes_of
from contour.conversion.told import Document, Told


@dataclass(slots=True)
class HostRoutes:
    """The routes of a host, and the messages about them."""

    documents: list[Document] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    has_converted: bool = False
    """Whether any path is converted, not only closed."""


def routes(host: str, places: list[Place], namespace: str, *, has_tls: bool) -> HostRoutes:
    """The routes of a host whose HTTPProxy is in a namespace; `places` in order of precedence."""
    usual = [it for it in places if not it.given.is_canary]
    making = _Making(
        host=host,
        namespace=namespace,
        has_tls=has_tls,
        kind=paths.Host(
            any(it.given.is_on("use-regex") or it.target for it in usual),
            frozenset(it.text for it in usual if it.path.path_type == "Exact"),
        ),
    )
    making.make(usual, [it for it in places if it.given.is_canary and not making.is_closed(it)])
    return making.result


@dataclass(slots=True)
class _Making:
    host: str
    namespace: str
    has_tls: bool
    kind: paths.Host
    result: HostRoutes = field(default_factory=HostRoutes)
    taken: dict[str, Given] = field(default_factory=dict)
    """The Ingress of each set of conditions."""

    def is_closed(self, place: Place) -> bool:
        """Whether a place is left out whatever its path is."""
        return place.is_left_out or place.given.namespace != self.namespace

    def make(self, usual: list[Place], canaries: list[Place]) -> None:
        """Adds all routes."""
        found = self._first(usual)
        chosen = self._first(canaries)
        for key, it in chosen.items():
            if key not in found:
                text = f"no other Ingress has the path {it.path.path} of {self.host}"
                self._tell(it, "canary", text)
        places = self._in_order(found.values())
        rewritten = self._rewritten(places)
        closed = list[Place]()
        for it in places:
            made = self._converted(it, chosen.get(self._key(it)), rewritten.get(it.text), places)
            if made is None:
                closed.append(it)
                made = paths.closed(it.path, self.kind)
            self._add(it, chosen.get(self._key(it)), made)
        if self.result.has_converted:
            for it in closed:
                self._tell(it, "", f"{self._named(it)} is left out: it answers 503")
        self._add_rest([it for it in usual if not self.is_closed(it)])

    def _key(self, place: Place) -> tuple[str, str]:
        """The key of a path; for a regular expression the type of path does not matter."""
        return (place.text, "") if self.kind.is_regex else place.key

    def _first(self, places: Iterable[Place]) -> dict[tuple[str, str], Place]:
        """The place that is used for each path."""
        found: dict[tuple[str, str], Place] = {}
        for it in places:
            winner = found.setdefault(self._key(it), it)
            if winner is not it and not it.is_default:
                self._tell_taken(it, winner.given)
        return found

    def _in_order(self, places: Iterable[Place]) -> list[Place]:
        """In the order in which nginx tries regular expressions; the order of other paths does not
        matter."""
        if not self.kind.is_regex:
            return list(places)
        return sorted(places, key=lambda it: (len(it.text), it.text), reverse=True)

    def _rewritten(self, places: list[Place]) -> dict[str, Rewrite | UnconvertibleError]:
        """The rewrites of the paths of a host."""
        found: dict[str, Rewrite | UnconvertibleError] = {}
        for it in places:
            if it.target and not self.is_closed(it):
                try:
                    found[it.text] = rewrites.rewrite(it.text, it.target)
                except UnconvertibleError as error:
                    found[it.text] = error
        prefixes = {it: made.prefix for it, made in found.items() if isinstance(made, Rewrite)}
        for path, other in rewrites.displaced({it.text for it in places}, prefixes).items():
            text = f"its rewrite needs a prefix, which would come after the path {other!r}"
            found[path] = UnconvertibleError(text)
        return found

    def _converted(
        self,
        place: Place,
        canary: Place | None,
        rewritten: Rewrite | UnconvertibleError | None,
        places: list[Place],
    ) -> list[Match] | None:
        """The conditions of a path; None if it is left out."""
        if self.is_closed(place):
            return None
        try:
            made = self._matches(place, rewritten, places)
            list(routes_of(place, canary, made))
        except UnconvertibleError as error:
            self._tell(place, "", f"{self._named(place)}: {error}", left_out=True)
            return None
        if any(it.is_closed for it in made):
            text = "what differs from it in case answers 503: only a prefix is replaced"
            self._tell(place, "rewrite-target", f"{self._named(place)}: {text}")
        self.result.has_converted = True
        return made

    def _matches(
        self, place: Place, rewritten: Rewrite | UnconvertibleError | None, places: list[Place]
    ) -> list[Match]:
        if rewritten is None:
            return paths.matches(place.path, self.kind)
        if isinstance(rewritten, UnconvertibleError):
            raise rewritten
        behind = (it for it in places if rewrites.first(place.text, it.text))
        if not any(rewrites.may_meet(place.text, it.text) for it in behind):
            return [rewritten.match]
        other = rewrites.other_case(place.text, rewritten.prefix)
        return [rewritten.match, *([other] if other is not None else [])]

    def _add(self, place: Place, canary: Place | None, matches: list[Match]) -> None:
        insecure = self._insecure(place)
        for match in matches:
            winner = self.taken.setdefault(repr(match.conditions), place.given)
            if winner is not place.given:
                self._tell_taken(place, winner)
                continue
            for route in routes_of(place, canary, [match]):
                self.result.documents.append(route if match.is_closed else route | insecure)

    def _add_rest(self, own: list[Place]) -> None:
        self.result.documents += self._app_roots(own)
        for it in own:
            if not self.has_tls and it.given.is_on("force-ssl-redirect"):
                text = f"{self.host} has no TLS here: who terminates it has to redirect"
                self._tell(it, "force-ssl-redirect", text)

    def _app_roots(self, places: Iterable[Place]) -> Iterator[Document]:
        for it in places:
            if path := it.given.value("app-root"):
                redirect = {"path": path, "statusCode": 302}
                route = {"conditions": [{"exact": "/"}], "requestRedirectPolicy": redirect}
                yield route | self._insecure(it)
                return

    def _insecure(self, place: Place) -> Document:
        return {"permitInsecure": True} if self.has_tls and _is_insecure(place.given) else {}

    def _named(self, place: Place) -> str:
        return f"path {place.path.path!r} of {self.host}"

    def _tell_taken(self, place: Place, winner: Given) -> None:
        text = f"{self._named(place)} is served as {winner} says, which comes first"
        self._tell(place, "", text)

    def _tell(self, place: Place, name: str, text: str, *, left_out: bool = False) -> None:
        annotation = f"{PREFIX}{name}" if name else ""
        self.result.told.append(Told(str(place.given), annotation, text, left_out))


def _is_insecure(given: Given) -> bool:
    return not given.is_on("ssl-redirect", usual=True) and not given.is_on("force-ssl-redirect")

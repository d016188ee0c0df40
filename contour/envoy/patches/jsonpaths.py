"""Evaluates users' JSONPath expressions (RFC 9535), with a limit on the cost of each.

It may be written as Envoy Gateway takes it, without `$` and between white space. What else RFC 9535
does not have is refused. The library would match regular expressions with Python's
backtracking engine, and follow `$..*..*..*` for hours. Here they are RE2, and one evaluation may
take so many steps, and so may all those of one policy together. They are counted before they are
made, by the size of what a segment, a comparison or a regular expression is about to look at.

Import it only where an expression is evaluated, since importing the library takes 24 ms.
"""

from collections.abc import Callable, Iterable, Iterator

from jsonpath import (
    JSONPathEnvironment,
    JSONPathError,
    JSONPathMatch,
    JSONPathSyntaxError,
    Parser,
)
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.segments import (
    JSONPathChildSegment,
    JSONPathRecursiveDescentSegment,
    JSONPathSegment,
)
from jsonpath.stream import TokenStream

from crds.raw import Raw, is_list, is_mapping
from dag.values import regexes

MOST_STEPS = 50_000
"""The limit for one evaluation, some 0.2 s. In a virtual host with 1,000 routes, `$..*` takes
10,000 steps."""

MOST_TOGETHER = 200_000
"""The limit for all evaluations of one policy on one resource."""

_CHARACTERS = 100
"""The characters of a text that count as one step."""

Place = tuple[int | str, ...]
"""The keys and indices that lead to a node."""


class Finder:
    """Evaluates the expressions of one policy on one resource."""

    def __init__(self) -> None:
        self._left = MOST_TOGETHER

    def found(self, expression: str, document: Raw) -> Iterator[Place]:
        """The places that an expression finds, in the order of the document. Raises
        `JSONPathError` for an expression that is wrong or takes too many steps."""
        steps = _Steps(self._left)
        try:
            steps.take(len(expression))  # to read it
            for it in _Environment(steps).compile(_rooted(expression)).finditer(document):
                yield it.parts
        except RecursionError as error:
            raise JSONPathError("is nested too deeply", token=None) from error
        except JSONPathSyntaxError as error:
            raise JSONPathError(_said(error), token=None) from error
        except OverflowError as error:
            raise JSONPathError("has a number that is too large", token=None) from error
        finally:
            self._left -= steps.taken


def _rooted(expression: str) -> str:
    """An expression in the form of RFC 9535, which begins with `$`."""
    bare = expression.strip()
    if bare.startswith("$"):
        return bare
    return f"${bare}" if bare.startswith((".", "[")) else f"$.{bare}"


def _said(error: JSONPathSyntaxError) -> str:
    """What is wrong, without the names that the library has for tokens."""
    said = str(error.message)
    if "TOKEN_" not in said or error.token is None:
        return said
    return f"unexpected {error.token.value!r}" if error.token.value else "unexpected end"


class _Steps:
    """How many steps an evaluation has taken; `left` are those of all together."""

    def __init__(self, left: int) -> None:
        self.taken = 0
        self._left = left

    def take(self, count: int) -> None:
        self.taken += count
        if self.taken > MOST_STEPS:
            raise JSONPathError(f"takes more than {MOST_STEPS:,} steps", token=None)
        if self.taken > self._left:
            why = f"takes more than {MOST_TOGETHER:,} steps together with those before it"
            raise JSONPathError(why, token=None)


def _size(value: object) -> int:
    """The steps that it takes to look at all of a value."""
    if isinstance(value, JSONPathMatch):
        return _size(value.obj)
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS
    if is_mapping(value):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if is_list(value) else 1


def _width(value: object) -> int:
    """The steps that it takes to look at the children of a value."""
    return 1 + (len(value) if is_mapping(value) or is_list(value) else 0)


class _Environment(JSONPathEnvironment):
    """The library's environment, for one evaluation."""

    max_recursion_depth = 200  # levels of JSON; Protobuf takes documents of more than 100

    def __init__(self, steps: _Steps) -> None:
        self.steps = steps
        self.parser_class = _Parser
        super().__init__(strict=True)

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _Expression(self.steps, regexes.matches)
        self.function_extensions["search"] = _Expression(self.steps, regexes.is_found)

    def compare(self, left: object, operator: str, right: object) -> bool:
        self.steps.take(_size(left))
        return super().compare(left, operator, right)

    def counted(self, segment: JSONPathSegment) -> JSONPathSegment:
        """A segment that counts the steps that it takes."""
        if isinstance(segment, JSONPathRecursiveDescentSegment):
            return _Descendants(self.steps, segment)
        return _Children(self.steps, segment)


class _Descendants(JSONPathRecursiveDescentSegment):
    def __init__(self, steps: _Steps, plain: JSONPathSegment) -> None:
        super().__init__(env=plain.env, token=plain.token, selectors=plain.selectors)
        self._steps = steps

    def resolve(self, nodes: Iterable[JSONPathMatch]) -> Iterable[JSONPathMatch]:
        return super().resolve(_counted(self._steps, nodes, _size, len(self.selectors)))


class _Children(JSONPathChildSegment):
    def __init__(self, steps: _Steps, plain: JSONPathSegment) -> None:
        super().__init__(env=plain.env, token=plain.token, selectors=plain.selectors)
        self._steps = steps

    def resolve(self, nodes: Iterable[JSONPathMatch]) -> Iterable[JSONPathMatch]:
        return super().resolve(_counted(self._steps, nodes, _width, len(self.selectors)))


def _counted(
    steps: _Steps, nodes: Iterable[JSONPathMatch], cost: Callable[[object], int], times: int
) -> Iterator[JSONPathMatch]:
    """The nodes, each after the steps that it takes to select from it so many times."""
    for it in nodes:
        steps.take(cost(it.obj) * times)
        yield it


class _Parser(Parser):
    """Makes segments that count; those of queries within filters, too."""

    env: _Environment

    def __init__(self, *, env: JSONPathEnvironment) -> None:
        super().__init__(env=env)
        # The strict environment of the library has one operator more than RFC 9535.
        operators = self.BINARY_OPERATORS.items()
        self.BINARY_OPERATORS = {token: it for token, it in operators if it != "<>"}

    def parse_query(self, stream: TokenStream) -> Iterable[JSONPathSegment]:
        return map(self.env.counted, super().parse_query(stream))


class _Expression(FilterFunction):
    """`match` or `search`: whether a text matches a regular expression."""

    def __init__(self, steps: _Steps, matches: Callable[[str, str], bool]) -> None:
        self._steps = steps
        self._matches = matches

    @property
    def arg_types(self) -> list[ExpressionType]:
        return [ExpressionType.VALUE, ExpressionType.VALUE]

    @property
    def return_type(self) -> ExpressionType:
        return ExpressionType.LOGICAL

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        if why := regexes.refusal(pattern):
            raise JSONPathError(f"{pattern} {why}", token=None)
        self._steps.take(_size(value))
        return self._matches(pattern, value)

"""Frozen dataclasses whose methods are compiled when they are first called.

`dataclasses.dataclass` compiles six methods of each class when its module is imported. For our
hundreds of classes that took most of the CPU before a command's first useful work, and a command
calls the methods of few of them. Here a class begins with stand-ins, one for each method. The first
call replaces it by what `dataclasses` makes, so that all later calls are as fast as usual.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import FrozenInstanceError
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, NoReturn, TypeVar

__all__ = ["dataclass", "replace"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(
        *, frozen: bool, slots: bool, kw_only: bool = False, eq: bool = True
    ) -> Callable[[type[T]], type[T]]:
        """A class with `dataclasses.dataclass(frozen=True, slots=True)`, compiled on first use."""
        if not (frozen and slots):
            raise TypeError("only frozen classes with slots are made here")

        def made(cls: type[T]) -> type[T]:
            written = {it for it, value in vars(cls).items() if value is not None}
            found = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=True, kw_only=kw_only
            )(cls)
            for name, method in {**_FIRST_CALLS, **_SHARED}.items():
                if name not in written and (eq or name not in ("__eq__", "__hash__")):
                    setattr(found, name, method)
            return found

        return made

    def replace(of: T, /, **changes: object) -> T:
        """As `dataclasses.replace`, by the getters and setters of slots."""
        return _COPIES[type(of)](of, **changes)


def _refuse_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[object]:
    return [getattr(self, name) for name in _names(type(self))]


def _restore(self: object, state: Sequence[object]) -> None:
    for name, value in zip(_names(type(self)), state, strict=True):
        object.__setattr__(self, name, value)


def _names(cls: type) -> tuple[str, ...]:
    return tuple(vars(cls)["__dataclass_fields__"])


_SHARED = {
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}


def _first_call(name: str) -> Callable[..., object]:
    def call(self: object, *arguments: object, **named: object) -> object:
        owner = next(it for it in type(self).__mro__ if vars(it).get(name) is call)
        method = _compiled(owner, name)
        setattr(owner, name, method)
        return method(self, *arguments, **named)

    return call


_FIRST_CALLS = {name: _first_call(name) for name in ("__init__", "__eq__", "__hash__", "__repr__")}


def _compiled(cls: type, name: str) -> Callable[..., object]:
    """A method as `dataclasses` makes it for a class with the same fields."""
    fields = tuple(vars(cls)["__dataclass_fields__"].values())
    if name == "__init__" and not hasattr(cls, "__post_init__") and all(map(_is_plain, fields)):
        return _quick_init(cls, fields)
    after = {it: getattr(cls, it) for it in ("__post_init__",) if hasattr(cls, it)}
    double = dataclasses.make_dataclass(
        cls.__name__,
        [(it.name, it.type, copy.copy(it)) for it in fields],
        namespace=after,
        init=name == "__init__",
        frozen=name == "__init__",
        eq=name == "__eq__",
        unsafe_hash=name == "__hash__",
        repr=name == "__repr__",
    )
    method: Callable[..., object] = vars(double)[name]
    return method


def _is_plain(field: "dataclasses.Field[object]") -> bool:
    return field.init and not field.kw_only and field.default_factory is dataclasses.MISSING


def _quick_init(cls: type, fields: "Sequence[dataclasses.Field[object]]") -> Callable[..., object]:
    """Sets each field by the setter of its slot: `dataclasses` looks it up by its name for each
    object, which takes twice as long, and records are most of what rules make."""
    known: dict[str, object] = {}
    parameters, steps = ["self"], ["pass"]
    for it in fields:
        known[f"set_{it.name}"] = getattr(cls, it.name).__set__
        known[f"default_{it.name}"] = it.default
        is_required = it.default is dataclasses.MISSING
        parameters.append(it.name if is_required else f"{it.name}=default_{it.name}")
        steps.append(f"set_{it.name}(self, {it.name})")
    made = _function("__init__", parameters, steps, known)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _function(
    name: str, parameters: Iterable[str], steps: Iterable[str], known: dict[str, object]
) -> FunctionType:
    exec(f"def {name}({', '.join(parameters)}):\n " + "\n ".join(steps), known)
    made = known[name]
    assert isinstance(made, FunctionType)
    return made


class _Copies(dict[type, Callable[..., object]]):
    """For each class what makes a record like another one, with some fields as they are told."""

    def __missing__(self, cls: type) -> Callable[..., object]:
        fields = dataclasses.fields(cls)
        are_slots = all(
            isinstance(getattr(cls, it.name, None), MemberDescriptorType) for it in fields
        )
        is_plain = are_slots and all(it.init for it in fields) and not hasattr(cls, "__post_init__")
        found = self[cls] = _quick_copy(cls, fields) if is_plain else dataclasses.replace
        return found


_COPIES = _Copies()
_KEPT = object()


def _quick_copy(cls: type, fields: "Sequence[dataclasses.Field[object]]") -> Callable[..., object]:
    """`dataclasses` looks at the properties of each field for each copy, which takes five times as
    long, and policies are applied by copies."""
    known: dict[str, object] = {"__new": cls.__new__, "__class": cls, "__kept": _KEPT}
    parameters, steps = ["self", "/"], ["__made = __new(__class)"]
    for it in fields:
        known[f"__set_{it.name}"] = getattr(cls, it.name).__set__
        parameters.append(f"{it.name}=__kept")
        steps.append(
            f"__set_{it.name}(__made, self.{it.name} if {it.name} is __kept else {it.name})"
        )
    return _function("replace", parameters, [*steps, "return __made"], known)

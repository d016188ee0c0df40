"""What every model is made of: the decorators, names, and the metadata of an object.

Models are dataclasses, frozen and slotted, that pydantic makes from documents: each object is
validated once, when it is read, with all errors and their paths, and is then as small as a plain
object (1.6 KB per HTTPProxy, instead of 7.9 KB as a BaseModel). What the code makes itself is not
validated. pydantic looks at a model when the first object of its kind is read, since that takes
longer than to define the class. `status`, `managedFields` and `resourceVersion` are not part of
any model, so that the controller's own status writes do not look like changes.
"""

import dataclasses
from collections.abc import Callable
from typing import Annotated, NamedTuple, TypeGuard, TypeVar, dataclass_transform

from pydantic import AwareDatetime, ConfigDict, Field
from pydantic.fields import FieldInfo

from crds.records import dataclass

T = TypeVar("T")

_INITIALISMS = {it: it.upper() for it in ("io", "ip", "http", "json", "jwks", "jwt", "tls")}


def wire_name(name: str) -> str:
    """The camelCase name of a field. Initialisms are in capitals, except at the beginning."""
    first, *rest = name.split("_")
    return first + "".join(_INITIALISMS.get(word, word.capitalize()) for word in rest)


_WRITTEN_BY_USERS = ConfigDict(
    alias_generator=wire_name,
    populate_by_name=True,
    extra="forbid",
)
_WRITTEN_BY_MACHINES = ConfigDict(
    alias_generator=wire_name,
    populate_by_name=True,
    extra="ignore",
)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field,))
def model(cls: type[T]) -> type[T]:
    """A model with every field of its kind: an unknown field is a user's mistake."""
    return _made(cls, _WRITTEN_BY_USERS)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field,))
def excerpt(cls: type[T]) -> type[T]:
    """A model with only those fields that the rules read: other fields are ignored silently."""
    return _made(cls, _WRITTEN_BY_MACHINES)


def _made(cls: type[T], config: ConfigDict) -> type[T]:
    for name, given in list(vars(cls).items()):
        if isinstance(given, FieldInfo):
            _annotate(cls, name, given)
    setattr(cls, "__pydantic_config__", config)  # noqa: B010 - pydantic looks for it there
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def _annotate(cls: type, name: str, given: FieldInfo) -> None:
    """Moves what `Field` says from the default of a field to its annotation, for `dataclasses`."""
    hints = cls.__annotations__
    hints[name] = Annotated[hints[name], given]
    factory: object = given.default_factory
    if _takes_nothing(factory):
        setattr(cls, name, dataclasses.field(default_factory=factory, repr=given.repr))
    elif given.is_required():
        delattr(cls, name)
    else:
        setattr(cls, name, given.default)


def _takes_nothing(factory: object) -> TypeGuard[Callable[[], object]]:
    return callable(factory)


class NamespacedName(NamedTuple):
    """The identity of an object within its kind. A cluster-scoped one has an empty namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ObjectRef(NamedTuple):
    """The identity of an object among all kinds."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> NamespacedName:
        """The identity of the same object within its kind."""
        return NamespacedName(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@excerpt
class ObjectMeta:
    """The standard metadata that rules may read (Kubernetes API conventions, "Metadata")."""

    name: str
    namespace: str = ""
    """Empty for cluster-scoped objects. Decoding sets `default` where a namespace is missing."""
    uid: str = ""
    generation: int = 0
    creation_timestamp: AwareDatetime | None = None
    """Absent for objects from files, which are ordered by namespace and name alone."""
    deletion_timestamp: AwareDatetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)

    @property
    def key(self) -> NamespacedName:
        """The identity of the object within its kind."""
        return NamespacedName(self.namespace, self.name)


"""An object as it came from YAML or JSON, not yet validated."""

"""What every model is made of: the decorators, names, and the metadata of an object.

Models are pydantic dataclasses, frozen and slotted: each object is validated once, when it is read,
with all errors and their paths, and is then as small as a plain object (1.6 KB per HTTPProxy,
instead of 7.9 KB as a BaseModel). `status`, `managedFields` and `resourceVersion` are not part of
any model, so that the controller's own status writes do not look like changes.
"""

from typing import NamedTuple, TypeVar, cast, dataclass_transform

from pydantic import AwareDatetime, ConfigDict, Field
from pydantic.dataclasses import dataclass

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
    use_attribute_docstrings=True,
)
_WRITTEN_BY_MACHINES = ConfigDict(
    alias_generator=wire_name,
    populate_by_name=True,
    extra="ignore",
    use_attribute_docstrings=True,
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
    # With slots a new class is returned, which has the same fields.
    return cast("type[T]", dataclass(frozen=True, slots=True, kw_only=True, config=config)(cls))


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

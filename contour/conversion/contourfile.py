"""Converts the configuration of upstream Contour to a ContourConfiguration.

A configuration file (alone, or in a ConfigMap) or the `runtimeSettings` of a ContourDeployment. The
fields of a ContourConfiguration have upstream's names, so a setting moves to the field that
`contour.files.upstream` names for it, with the fields below it in camel case. Names that users
chose, such as those of headers, stay as they are. A default of upstream that differs from ours is
written. The result is checked as the API server and the instance would.
"""

import re
from collections.abc import Iterable, Iterator

from contour.conversion.told import Converted, Document, Told
from contour.files import documents, parse, upstream
from crds import decode, shape
from crds.contourconfiguration import ContourConfiguration
from crds.raw import Raw, is_list, is_mapping
from crds.unserved import unserved
from dag.configuration import reading

_NAME = "contour"
_NAMESPACE = "projectcontour"


def converted(files: Iterable[tuple[str, bytes]]) -> Converted:
    """The ContourConfigurations of files, by their name and content."""
    result = Converted()
    for name, content in files:
        for text in documents.texts(content):
            try:
                value = parse.value(text.raw)
            except parse.MalformedError as error:
                line = text.line + error.line
                _leave_unread(Told(f"{name}:{line}", "", error.message), result)
                continue
            for it in decode.items(value):
                if is_mapping(it):
                    _convert(name, it, result)
    return result


def _leave_unread(why: Told, result: Converted) -> None:
    result.told.append(why._replace(is_left_out=True))
    result.is_unreadable = True


def _convert(file: str, found: Raw, result: Converted) -> None:
    metadata = found.get("metadata")
    named = metadata if is_mapping(metadata) else {}
    key = str(named.get("namespace", _NAMESPACE)), str(named.get("name", _NAME))
    subject = f"{found['kind']} {'/'.join(key)}" if "kind" in found else file
    settings: Document | None
    match found.get("kind"):
        case None:
            settings = _of_file(subject, found, key[0], result)
        case "ConfigMap":
            settings = _of_config_map(subject, found, key[0], result)
        case "ContourDeployment":
            settings = _of_deployment(subject, found, result)
        case _:
            return
    if settings is not None:
        _add(subject, {"name": _NAME, "namespace": key[0]}, settings, result)


def _of_config_map(subject: str, found: Raw, namespace: str, result: Converted) -> Document | None:
    data = found.get("data")
    text = data.get(upstream.FILE) if is_mapping(data) else None
    if not isinstance(text, str):
        return None
    try:
        value = parse.value(text.encode())
    except parse.MalformedError as error:
        _leave_unread(Told(subject, upstream.FILE, error.message), result)
        return None
    return _of_file(subject, value if is_mapping(value) else {}, namespace, result)


def _of_file(subject: str, found: Raw, namespace: str, result: Converted) -> Document:
    spec: Document = {}
    for path, where in upstream.settings(_used(subject, found, result), upstream.FILE_SETTINGS):
        value = _at(found, path)
        if where.startswith("spec.") and " " not in where:
            if not _is_none(value):
                spec = _with(spec, where.split(".")[1:], _spelt(value, _field(where)))
        else:
            result.told.append(Told(subject, ".".join(path), _elsewhere(where)))
    for path in upstream.unknown(found, upstream.FILE_SETTINGS):
        result.told.append(Told(subject, ".".join(path), "is no setting of Contour 1.33"))
    return _with_defaults_of_file(spec, found, namespace)


def _used(subject: str, found: Raw, result: Converted) -> Raw:
    """The settings without those that Contour ignores, since they name no service."""
    unused = [it for it in _OF_SERVICES if not _at(found, (it, "extensionService"))]
    for it in unused:
        if not _is_none(found.get(it)):
            result.told.append(Told(subject, it, "has no effect without extensionService"))
    return {name: value for name, value in found.items() if name not in unused}


_OF_SERVICES = ("globalExtAuth", "rateLimitService")


def _with_defaults_of_file(spec: Document, found: Raw, namespace: str) -> Document:
    """The same with those defaults of Contour's file that a ContourConfiguration does not have."""
    if _at(found, ("timeouts", "connection-idle-timeout")) is None:
        spec = _with(spec, ["envoy", "timeouts", "connectionIdleTimeout"], "60s")
    if _at(spec, ("envoy", "service")) is not None:
        spec = _defaulted(spec, ["envoy", "service"], {"namespace": namespace, "name": "envoy"})
    return spec


def _of_deployment(subject: str, found: Raw, result: Converted) -> Document:
    spec = found.get("spec")
    settings = spec if is_mapping(spec) else {}
    runtime = settings.get("runtimeSettings")
    made: Document = dict(runtime) if is_mapping(runtime) else {}
    for path, where in upstream.settings(settings, upstream.DEPLOYMENT_SETTINGS):
        if where.startswith("spec.") and " " not in where:
            made = _with(made, where.split(".")[1:], _at(settings, path))
        elif where != "spec":
            result.told.append(Told(subject, ".".join(("spec", *path)), _elsewhere(where)))
    # Contour makes Envoys for a Gateway, whatever it is told of them.
    made = _defaulted(made, ["gateway"], {"mode": "Single"})
    return _defaulted(made, ["envoy", "networkPublishing"], {"type": "LoadBalancerService"})


def _is_none(value: object) -> bool:
    """Whether Contour takes a value for none: an empty text or object, such as an empty name."""
    if is_mapping(value):
        return all(map(_is_none, value.values()))
    return value in (None, "")


def _elsewhere(where: str) -> str:
    return f"is not converted; see {where}" if where else "has no counterpart"


def _at(found: Raw, path: Iterable[str]) -> object:
    value: object = found
    for name in path:
        value = value.get(name) if is_mapping(value) else None
    return value


def _with(found: Raw, path: list[str], value: object) -> Document:
    """The same with a value at a path."""
    name, *rest = path
    below = found.get(name)
    inner = _with(below if is_mapping(below) else {}, rest, value) if rest else value
    return {**found, name: inner}


def _defaulted(found: Raw, path: list[str], defaults: Raw) -> Document:
    """The same with defaults for the fields of the object at a path."""
    value = _at(found, path)
    return _with(found, path, {**defaults, **(value if is_mapping(value) else {})})


def _field(where: str) -> shape.FieldShape | None:
    """The field of a ContourConfiguration at a path."""
    found: shape.FieldShape | None = None
    model: type | None = ContourConfiguration
    for name in where.split("."):
        found = _fields(model).get(name)
        model = found.model if found is not None else None
    return found


def _fields(model: type | None) -> dict[str, shape.FieldShape]:
    return shape.fields(model) if model is not None else {}


def _spelt(value: object, field: shape.FieldShape | None) -> object:
    """The value of a setting with the field names of our model; what no model describes stays as it
    is."""
    if is_list(value):
        return [_spelt(it, field) for it in value]
    if field is None or field.model is None:
        return value
    if is_mapping(value):
        return _spelt_parts(value, _fields(field.model))
    return _reference(value) if {"namespace", "name"} <= _fields(field.model).keys() else value


def _spelt_parts(value: Raw, fields: dict[str, shape.FieldShape]) -> Document:
    names = ((str(it) if it in fields else _camel(str(it)), it) for it in value)
    return {name: _spelt(value[it], fields.get(name)) for name, it in names}


def _reference(value: object) -> object:
    """`namespace/name` of an ExtensionService is a reference of two fields."""
    if not isinstance(value, str) or "/" not in value:
        return value
    namespace, _, name = value.partition("/")
    return {"namespace": namespace, "name": name}


def _camel(name: str) -> str:
    return re.sub(r"-([a-z0-9])", lambda found: found[1].upper(), name)


def _add(subject: str, metadata: Document, spec: Document, result: Converted) -> None:
    if any(it["metadata"] == metadata for it in result.documents):
        why = "is not converted: what came before it has made the ContourConfiguration of this name"
        result.told.append(Told(subject, "", why, is_left_out=True))
        return
    made: Document = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": metadata,
        "spec": spec,
    }
    result.documents.append(made)
    result.told.extend(_faults(subject, made))


def _faults(subject: str, made: Document) -> Iterator[Told]:
    decoded = decode.decode(made)
    if not isinstance(decoded, decode.Decoded):
        return
    for it in decoded.complaints:
        yield Told(subject, ".".join(map(str, it.path)), it.message, is_left_out=True)
    if isinstance(decoded.object, ContourConfiguration):
        _, errors = reading.resolved(decoded.object)
        yield from (Told(subject, "", it.message, is_left_out=True) for it in errors)
        yield from (Told(subject, it.path, it.why) for it in unserved(decoded.object))

"""What a container's spec says about its command and environment, made concrete.

Pure: the rules of the API for `env`, `envFrom`, `$(NAME)`, `command` and `args`.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.pods import network

Raw = dict[str, Any]
Find = Callable[[str, str, str], Raw | None]  # kind, namespace, name


class MissingError(Exception):
    """Something that the container refers to is not there (yet)."""


def variables(container: Raw, pod: Raw, find: Find) -> dict[str, str]:
    """The environment that the container asks for, and where the API server is."""
    found = {"KUBERNETES_SERVICE_HOST": network.KUBERNETES, "KUBERNETES_SERVICE_PORT": "443"}
    for source in container.get("envFrom") or ():
        found |= _all_of(source, pod["metadata"]["namespace"], find)
    for it in container.get("env") or ():
        if "valueFrom" in it:
            value = _referred(it["valueFrom"], container, pod, find)
        else:
            value = expanded(it.get("value", ""), found)
        if value is not None:
            found[it["name"]] = value
    return found


def command(container: Raw, entrypoint: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """`command` replaces what the image starts, `args` follow."""
    parts = [*(container.get("command") or entrypoint), *(container.get("args") or ())]
    return [expanded(it, known) for it in parts]


def expanded(text: str, known: Mapping[str, str]) -> str:
    """With values in the place of `$(NAME)`; `$$(NAME)` and what is not known stay."""

    def value(found: re.Match[str]) -> str:
        escaped, name = found.groups()
        if escaped:
            return f"$({name})"
        return known.get(name, found[0])

    return re.sub(r"(\$?)\$\(([^()]+)\)", value, text)


def field(path: str, pod: Raw) -> str:
    """The value of a downward API field."""
    if found := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path):
        return str((pod["metadata"].get(found[1]) or {}).get(found[2], ""))
    if path in {"metadata.labels", "metadata.annotations"}:
        entries = pod["metadata"].get(path.split(".")[1]) or {}
        return "\n".join(f'{name}="{entries[name]}"' for name in sorted(entries))
    if path == "status.podIPs":
        return str(pod["status"]["podIP"])
    value: Any = pod
    for part in path.split("."):
        value = value.get(part, "")
    return str(value)


def decoded(obj: Raw) -> dict[str, bytes]:
    """What a Secret or ConfigMap holds."""
    if obj["kind"] == "Secret":
        entries = obj.get("data") or {}
        return {name: base64.b64decode(value) for name, value in entries.items()}
    found = {name: value.encode() for name, value in (obj.get("data") or {}).items()}
    packed = obj.get("binaryData") or {}
    return found | {name: base64.b64decode(value) for name, value in packed.items()}


def resource(container: Raw, path: str) -> str:
    """The value of a resourceFieldRef: in whole cores or in bytes."""
    wanted, _, name = path.partition(".")
    quantity = str(container.get("resources", {}).get(wanted, {}).get(name, "0"))
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", quantity).groups()  # type: ignore[union-attr]
    if unit == "m":
        return str(-(-int(number) // 1000))
    scale = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    return str(int(float(number) * scale[unit]))


def _referred(source: Raw, container: Raw, pod: Raw, find: Find) -> str | None:
    if "fieldRef" in source:
        return field(source["fieldRef"]["fieldPath"], pod)
    if "resourceFieldRef" in source:
        return resource(container, source["resourceFieldRef"]["resource"])
    kind = "Secret" if "secretKeyRef" in source else "ConfigMap"
    ref: Raw = source["secretKeyRef" if kind == "Secret" else "configMapKeyRef"]
    obj = find(kind, pod["metadata"]["namespace"], ref["name"])
    held = decoded(obj) if obj else {}
    if ref["key"] in held:
        return held[ref["key"]].decode()
    if ref.get("optional"):
        return None
    raise MissingError(f"{kind} {ref['name']} has no {ref['key']}")


def _all_of(source: Raw, namespace: str, find: Find) -> dict[str, str]:
    kind = "Secret" if "secretRef" in source else "ConfigMap"
    ref: Raw = source["secretRef" if kind == "Secret" else "configMapRef"]
    obj = find(kind, namespace, ref["name"])
    if obj is None and not ref.get("optional"):
        raise MissingError(f"no {kind} {ref['name']}")
    prefix = source.get("prefix", "")
    held = decoded(obj) if obj else {}
    return {prefix + name: value.decode() for name, value in held.items()}

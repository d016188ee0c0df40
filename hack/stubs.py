"""Stubs of the protobuf modules that our code imports, from the descriptors in the installed wheel.

The wheel of xDS messages has no types: its classes are made when a module is imported. The stubs
come from `protoc-gen-mypy` (mypy-protobuf), which gets the descriptors as from protoc. Stubs of
`protoc --pyi_out` are less precise: they accept any string for an enum, any mapping for a message,
and any name in `HasField` and `WhichOneof`.
"""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from google.protobuf.compiler import plugin_pb2
from google.protobuf.descriptor import FileDescriptor

READERS = (
    "contour",
    "dag",
    "crds",
    "kube",
    "provisioning",
    "observability",
    "operator",
    "hack",
    "tests",
)
"""The folders whose imports count."""
_ROOTS = ("cel", "envoy", "xds", "udpa", "validate", "google")
_TYPED = "google.protobuf."
"""The prefix of modules whose stubs are in the types-protobuf package."""
_PLUGINS = {"_pb2": "protoc-gen-mypy", "_pb2_grpc": "protoc-gen-mypy_grpc"}


def files() -> Mapping[str, str]:
    """The text of each stub by its path: of imported modules, and of those that their fields refer
    to."""
    modules = {module for folder in READERS for module in _imported_below(Path(folder))}
    everything = _generated(modules)
    wanted: dict[str, str] = {}
    waiting = sorted(modules)
    while waiting:
        path = waiting.pop().replace(".", "/") + ".pyi"
        if path not in wanted:
            wanted[path] = everything[path]
            waiting += sorted(_imported(wanted[path]))
    return wanted | dict.fromkeys(_packages(wanted), "")


def _packages(paths: Iterable[str]) -> Iterator[str]:
    """The marker files of folders, without which mypy would take the wheel's folders for the
    packages.

    `google` itself has none of these, because the stubs of `google.protobuf` are in another place.
    """
    folders = {folder for path in paths for folder in PurePosixPath(path).parents}
    yield from (f"{it}/__init__.pyi" for it in folders if str(it) not in (".", "google"))


def _imported_below(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        yield from _imported(path.read_text(encoding="utf-8"))


def _imported(text: str) -> Iterator[str]:
    """The protobuf modules without stubs that a module imports."""
    for node in ast.walk(ast.parse(text)):
        for name in _names(node):
            is_generated = name.split(".")[0] in _ROOTS and name.endswith(tuple(_PLUGINS))
            if is_generated and not name.startswith(_TYPED):
                yield name


def _names(node: ast.AST) -> Iterator[str]:
    """All names that may be modules in an import; for `from a import b`, a and a.b."""
    if isinstance(node, ast.Import):
        yield from (it.name for it in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{it.name}" for it in node.names)


def _generated(modules: Iterable[str]) -> Mapping[str, str]:
    """The stubs of all files on which these modules depend, even indirectly."""
    request = plugin_pb2.CodeGeneratorRequest()
    known: set[str] = set()

    def add(file: FileDescriptor) -> None:
        if file.name not in known:
            known.add(file.name)
            for it in file.dependencies:
                add(it)
            file.CopyToProto(request.proto_file.add())

    for module in sorted(modules):
        add(_descriptor(module))
    prefix = _TYPED.replace(".", "/")
    request.file_to_generate.extend(sorted(it for it in known if not it.startswith(prefix)))
    return {path: text for plugin in _PLUGINS.values() for path, text in _run(plugin, request)}


def _descriptor(module: str) -> FileDescriptor:
    made: FileDescriptor = importlib.import_module(module.removesuffix("_grpc")).DESCRIPTOR
    return made


def _run(plugin: str, request: plugin_pb2.CodeGeneratorRequest) -> Iterator[tuple[str, str]]:
    done = subprocess.run(
        [Path(sys.executable).with_name(plugin)],
        input=request.SerializeToString(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    answer = plugin_pb2.CodeGeneratorResponse.FromString(done.stdout)
    if answer.error:
        raise RuntimeError(f"{plugin}: {answer.error}")
    for it in answer.file:
        yield it.name, _strict(it.content)


def _strict(text: str) -> str:
    """Replaces the type of repeated messages with our own, whose `add` knows the fields."""
    loose, strict = "_containers.RepeatedCompositeFieldContainer[", "_protobuf_repeated.Messages["
    if loose not in text:
        return text
    first = text.index("\nfrom ")
    text = f"{text[:first]}\nimport protobuf_repeated as _protobuf_repeated{text[first:]}"
    return text.replace(loose, strict)

"""Lets every Python process that finds this folder on its path import one module with another text.

`MUTANT` names it: the module, the text that stands once in it and what replaces it, as JSON.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
from types import ModuleType

_MODULE, _BEFORE, _AFTER = json.loads(os.environ["MUTANT"])


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        """Never the compiled text that lies beside the module."""
        source = self.get_data(self.path).decode()
        assert source.count(_BEFORE) == 1, f"{_BEFORE!r} stands {source.count(_BEFORE)} times"
        return compile(source.replace(_BEFORE, _AFTER), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _MODULE:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)  # type: ignore[arg-type]
        if found is not None and found.origin is not None:
            found.loader = _Loader(fullname, found.origin)
        return found


sys.meta_path.insert(0, _Finder())

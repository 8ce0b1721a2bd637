"""The real code of the memory folder, with another `os` under it: the same functions, over other globals.

Nothing in the program is changed for that, and nothing is replaced in its modules: what is made here is a second set
of them. Classes of values are shared with the program, so that it knows them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from functools import partial
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

from memstore.files import exchange, folder, publishing, scan, temporary, turn, walk
from memstore.files.folder import Folder
from scripts.proofs.simulator_calls import Calls

_MODULES = (exchange, temporary, walk, publishing, scan, turn, folder)
Changed = Mapping[str, Callable[..., Any]]
"""Functions that stand in for a module's own, by "module.name": a fault. Each is given that module and its own."""

Class = TypeVar("Class", bound=type)


def folder_over(calls: Calls, monotonic: Callable[[], float], changed: Changed) -> type[Folder]:
    """`memstore.files.folder.Folder` over one process's system calls."""
    given = {"os": calls.os_module(), "fcntl": calls.fcntl_module(), "time": SimpleNamespace(monotonic=monotonic)}
    copies: dict[str, ModuleType] = {module.__name__: ModuleType(module.__name__) for module in _MODULES}
    for module in _MODULES:
        space = vars(copies[module.__name__])
        space.update(vars(module))
        for name, value in vars(module).items():
            space[name] = _over(value, module, space, {**given, **copies})
        for key, function in changed.items():
            if key.startswith(f"{module.__name__.rpartition('.')[2]}."):
                name = key.partition(".")[2]
                space[name] = partial(function, copies[module.__name__], space[name])
    vars(copies[exchange.__name__])["_system_call"] = lambda: calls.exchange
    found: type[Folder] = vars(copies[folder.__name__])["Folder"]
    return found


def _over(value: object, module: ModuleType, space: dict[str, Any], given: Mapping[str, object]) -> object:
    if isinstance(value, ModuleType):
        return given.get(value.__name__, value)
    if getattr(value, "__module__", None) != module.__name__:
        return value
    if isinstance(value, type):
        return value if dataclasses.is_dataclass(value) else class_over(value, space)
    return _function_over(value, space)


def class_over(found: Class, space: dict[str, Any]) -> Class:
    """A class whose methods see other globals."""
    members = {name: _member_over(value, space) for name, value in vars(found).items()}
    changed = {name: value for name, value in members.items() if value is not vars(found)[name]}
    return type(found)(found.__name__, (found,), changed)


def _member_over(value: object, space: dict[str, Any]) -> object:
    if isinstance(value, classmethod):
        return classmethod(_function_over(value.__func__, space))
    return _function_over(value, space) if isinstance(value, FunctionType) else value


def _function_over(value: Any, space: dict[str, Any]) -> Any:
    if not isinstance(value, FunctionType):
        return value
    inner = getattr(value, "__wrapped__", None)
    if inner is not None:  # the only decorator there is
        return contextmanager(_function_over(inner, space))
    made = FunctionType(value.__code__, space, value.__name__, value.__defaults__, value.__closure__)
    made.__kwdefaults__ = value.__kwdefaults__
    return made

"""Rating systems of other packages, by the names of their modules: ``mypackage.mymodule:SYSTEM``.

An import executes code. Such names are those of the person who calls: from the command line or from Python. None is
taken from a lake, a file or a request, and none is stored where a command would read it as a system.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

from ranklake.rating_kernels import SYSTEMS, System
from ranklake.rating_kernels.core.cache_folder import sources_digest

from ..text import described


def is_own(name: str) -> bool:
    """Whether a name is that of a module's system, ``MODULE:NAME``; names of our systems have no colon."""
    return ":" in name


def import_system(name: str) -> System:
    """The system ``MODULE:NAME``, of a module that Python can import.

    Raises ValueError: the name has another form, there is no such module, its import fails, it has no such system, or
    :func:`check_own` refuses it.
    """
    module_name, _, attribute = name.partition(":")
    if not all(word.isidentifier() for word in (*module_name.split("."), attribute)):
        raise ValueError(f"a system of your own is MODULE:NAME, as mypackage.mymodule:SYSTEM, got {name!r}")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if not f"{module_name}.".startswith(f"{missing}."):
            raise ValueError(f"system {name}: the import of {module_name} fails: {error}") from error
        rule = f"there is no module {missing} on Python's path; install it, or put its folder into PYTHONPATH"
        raise ValueError(f"system {name}: {rule}") from error
    except Exception as error:
        raise ValueError(
            f"system {name}: the import of {module_name} fails: {type(error).__name__}: {error}"
        ) from error
    if not hasattr(module, attribute):
        there = [key for key, value in vars(module).items() if isinstance(value, System)]
        has = f"it has {', '.join(there)}" if there else "it has no System at all"
        raise ValueError(f"system {name}: module {module_name} has no {attribute}; {has}")
    return check_own(getattr(module, attribute), name)


def check_own(system: Any, name: str) -> System:
    """The system, if it is one with hyperparameters of its own and another name than ours; ``name`` is for messages.

    Raises ValueError: it is not.
    """
    if not isinstance(system, System):
        rule = f"must be a System, as array_system makes one (see CONTRIBUTING.md), got {described(system)}"
        raise ValueError(f"system {name}: {rule}")
    if SYSTEMS.get(system.name) is not system and system.name in SYSTEMS:
        raise ValueError(f"system {name}: its name {system.name!r} is that of one of our systems; give it another name")
    if not system.name or system.name.split() != [system.name] or is_own(system.name):
        raise ValueError(f"system {name}: its name must be one word without a colon, got {system.name!r}")
    try:
        system.params()
    except Exception as error:
        rule = "all hyperparameters need valid defaults"
        raise ValueError(f"system {name}: {system.params.__name__}() fails ({error}); {rule}") from error
    return system


def code_digest(system: System) -> str:
    """Digest of the code that determines a system's ratings; empty if it is in no file, as in a notebook.

    It is the digest of our kernels and, for a system of another package, of all modules of that package.
    """
    if SYSTEMS.get(system.name) is system:
        return sources_digest()
    top = sys.modules.get(system.params.__module__.partition(".")[0])
    folder, file = next(iter(getattr(top, "__path__", ())), None), getattr(top, "__file__", None)
    files = sorted(Path(folder).rglob("*.py")) if folder else [Path(file)] if file else []
    if not files:
        return ""
    digest = blake2b(sources_digest().encode(), digest_size=8)
    for path in files:
        digest.update(path.relative_to(folder or path.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()

"""Errors of the library: one line with the expected value, the actual value and a remedy."""

from __future__ import annotations

import errno
import os
import signal
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any


class WordswayError(Exception):
    """Base class of the exceptions that wordsway defines."""


class InputError(WordswayError, ValueError):
    """The request is invalid, and the caller can fix it.

    >>> str(InputError("a text of rank 2", "an array of shape (3,)", "pass an n×d array"))
    'expected a text of rank 2, got an array of shape (3,): pass an n×d array'
    """

    def __init__(self, expected: str, got: object, remedy: str) -> None:
        self.expected, self.got, self.remedy = expected, _one_line(str(got)), remedy
        super().__init__(f"expected {expected}, got {self.got}: {remedy}")


def _one_line(text: str) -> str:
    """``text`` without line breaks, cut to 160 characters: an array's repr has many lines."""
    text = " ".join(text.split()) if "\n" in text else text
    text = text or "''"
    return text if len(text) <= 160 else f"{text[:158]} …"


def positive(name: str, value: object) -> int:
    """Return ``value`` as an int ≥ 1 (NumPy integers are accepted), or raise an error.

    >>> positive("n", 3)
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 1:
        raise InputError(f"{name} ≥ 1, a whole number", repr(value), f"pass a positive {name}")
    return int(value)


class MissingExtraError(WordswayError, ImportError):
    """A library that belongs to an extra is not installed."""


def needs(extra: str, *libraries: str) -> None:
    """Raise an error that names the extra if one of its libraries is not installed.

    >>> needs("page", "no_library")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    wordsway.core.errors.MissingExtraError: no_library is missing: pip install '.[page]' in a
    checkout of wordsway, or 'wordsway[page]' from an index
    """
    for library in libraries:
        if find_spec(library) is None:
            raise MissingExtraError(
                f"{library} is missing: pip install '.[{extra}]' in a checkout of wordsway, "
                f"or 'wordsway[{extra}]' from an index"
            )


class MemoryBudgetError(WordswayError):
    """The request is valid but exceeds the memory budget."""


def first_line(error: object, limit: int = 200) -> str:
    """The first line of an error's message, cut to ``limit``; its type's name if the message is
    empty.

    >>> first_line(ValueError("no such file\\nsee above")), first_line(KeyError())
    ('no such file', 'KeyError')
    """
    lines = str(error).strip().splitlines()
    return (lines[0].strip() if lines else type(error).__name__)[:limit]


#: Remedies for failed file operations, with the numbers of their errors.
_DISK_REMEDIES = {
    "free some space there": (errno.ENOSPC, errno.EDQUOT),
    "remove the file in its way": (errno.ENOTDIR, errno.EEXIST),
    "remove the folder in its way": (errno.EISDIR,),
    "make it writable": (errno.EACCES, errno.EPERM, errno.EROFS),
    "end the program that uses it": (errno.EBUSY, errno.ETXTBSY),
    "mount its file system again": (errno.ESTALE,),
    "check its disk": (errno.EIO,),
}


def disk_refusal(error: OSError) -> tuple[str, str]:
    """Return the system's message for a failed file operation, and a remedy.

    >>> disk_refusal(OSError(errno.EBUSY, "busy"))
    ('Device or resource busy', 'end the program that uses it')
    """
    reason = os.strerror(error.errno) if error.errno else first_line(error)
    known = (remedy for remedy, codes in _DISK_REMEDIES.items() if error.errno in codes)
    return reason, next(known, "try again")


def exit_reason(code: int | None) -> str:
    """Describe how a process ended: its exit code or signal.

    >>> exit_reason(1), exit_reason(-9)
    ('exit code 1', 'signal 9, SIGKILL')
    """
    if code is None:
        return "no exit code yet"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code}, {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def renamed_names(find: Callable[[str], Any], module: str, **names: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that also accepts old public names, with a
    DeprecationWarning.

    >>> find = renamed_names({"New": 1}.__getitem__, "package", Old="New")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     find("Old")
    1
    """

    def attribute(name: str) -> Any:
        if name not in names:
            return find(name)
        message = f"{module}.{name} is now {module}.{names[name]}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return find(names[name])

    return attribute

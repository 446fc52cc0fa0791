"""Work of a tokenizer, bounded in time: its regular expressions are somebody else's."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from wordsway.core.errors import WordswayError, first_line
from wordsway.core.runtime import panics_are_hidden

#: Seconds that any text gets, and characters that add one more. Tokenizers read a million
#: characters a second; ten thousand is far below that.
PATIENCE = 10.0
CHARACTERS_PER_SECOND = 10_000

T = TypeVar("T")


def in_time(work: Callable[[], T], *, characters: int, name: str) -> T:
    """The answer of ``work``, a call into the tokenizers library, or an error once time is over.

    The library releases the interpreter while it runs, so a second thread can be left behind; it
    ends with the process. Where its regular expressions give up by themselves it panics, which is
    no ordinary exception.
    """
    answers: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()

    def run() -> None:
        try:
            answers.put((work(), None))
        except BaseException as error:  # a panic is one
            answers.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        with _without_panic_report():
            answer, error = answers.get(timeout=PATIENCE + characters / CHARACTERS_PER_SECOND)
    except queue.Empty:
        raise _refused(name, "it does not come to an end") from None
    if error is None:
        return answer  # type: ignore[return-value]
    if type(error).__name__ == "PanicException":
        raise _refused(name, first_line(error)) from None
    raise error


def _refused(name: str, why: str) -> WordswayError:
    return WordswayError(
        f"the tokenizer of {name} cannot read this text ({why}): "
        "check the regular expressions in its tokenizer.json"
    )


@contextlib.contextmanager
def _without_panic_report() -> Iterator[None]:
    """No report of a panic on standard error, after `runtime.hide_panics`."""
    if not panics_are_hidden():
        yield
        return
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)

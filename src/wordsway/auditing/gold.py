"""Gold triples: texts with rewordings that keep the meaning and a minimal change that does not.

Written for wordsway and released under its licence; ``docs/gold.md`` has the protocol, the counts
and the agreement of a second, blind reading.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

FIELDS = ("everyday", "medical", "legal", "finance", "support")


class Triple(NamedTuple):
    """A text of a ``field``, a ``light`` rewording (1 to 4 words differ), a ``heavy`` one (most
    words differ), and a minimal ``change`` of its meaning of one ``kind``.
    """

    field: str
    kind: str
    text: str
    light: str
    heavy: str
    change: str


@cache
def gold_triples() -> tuple[Triple, ...]:
    """Every triple of the package, by field and kind.

    >>> gold_triples()[0].text, gold_triples()[0].change
    ('The shop is open on Sundays.', 'The shop is not open on Sundays.')
    """
    table = files("wordsway.auditing").joinpath("gold.csv").read_text("utf-8")
    return tuple(Triple(*row) for row in list(csv.reader(table.splitlines()))[1:])

"""Assertions about encoders, for the tests of other projects.

>>> cases = [("It is safe.", "It is harmless.", "It is not safe.")]
>>> def letters(texts):
...     return [[float("not" in text), 1.0] for text in texts]
>>> assert_notices(letters, cases)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from wordsway.core.atomic import atomic
from wordsway.core.checks import Within, validated
from wordsway.core.errors import InputError, first_line
from wordsway.models.encoders import PairScorer, opened, with_vectors

#: A text, a rewording of it, and a change of its meaning.
Case = tuple[str, str, str]
#: Failures that a message lists.
SHOWN = 5


@validated
def assert_notices(
    encoder: Any, cases: Sequence[Sequence[str]], at_least: Annotated[float, Within(0, 1)] = 1.0
) -> None:
    """Fail unless a change of the meaning moves the encoder further than a rewording does.

    Parameters
    ----------
    encoder : any encoder of texts (`wordsway.models.encoders`), or a cross-encoder
    cases : (text, rewording, change) each
    at_least : the share of cases in which the change has to be further away, by cosine distance or,
        for a cross-encoder, by score
    """
    checked = _checked(cases)
    model = opened(encoder)
    near, far = _distances(model, checked)
    failed = [at for at in range(len(checked)) if not far[at] > near[at]]
    good = 1 - len(failed) / len(checked)
    if good >= at_least:
        return
    lines = [
        f"{model.name} notices {len(checked) - len(failed)} of {len(checked)} changes of meaning; "
        f"at least {at_least:.0%} are required"
    ]
    for at in failed[:SHOWN]:
        text, rewording, change = checked[at]
        lines.append(
            f"  {text!r} is {near[at]:.3f} from the rewording {rewording!r}, "
            f"and only {far[at]:.3f} from {change!r}"
        )
    raise AssertionError("\n".join(lines))


def _checked(cases: Sequence[Sequence[str]]) -> list[Case]:
    found = [tuple(case) for case in cases]
    bad = [one for one in found if len(one) != 3 or not all(isinstance(t, str) for t in one)]
    if bad or not found:
        got = repr(bad[0])[:60] if bad else "none"
        raise InputError("cases (text, rewording, change)", got, "pass three texts each")
    return found  # type: ignore[return-value]


def _distances(model: Any, cases: list[Case]) -> tuple[np.ndarray, np.ndarray]:
    """From each text to its rewording and to its change."""
    if isinstance(model, PairScorer):
        pairs = [(case[0], case[which]) for which in (1, 2) for case in cases]
        near, far = -model.scores(pairs).reshape(2, -1)
        return near, far
    vectors = model.encode([text for case in cases for text in case])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    texts, rewordings, changes = unit.reshape(len(cases), 3, -1).transpose(1, 0, 2)
    return 1 - (texts * rewordings).sum(1), 1 - (texts * changes).sum(1)


@validated
def record_vectors(encoder: Any, texts: Sequence[str], path: str | Path) -> None:
    """Write an encoder's vectors of texts to a JSON file, for `assert_same_vectors`."""
    model = with_vectors(opened(encoder), "recording")
    vectors = model.encode(list(texts))
    document = {
        "model": model.describe(),
        "texts": [
            {"text": text, "vector": [float(f"{number:.7g}") for number in row]}
            for text, row in zip(texts, vectors.tolist(), strict=True)
        ],
    }
    with atomic(Path(path)) as partial:
        partial.write_text(json.dumps(document, ensure_ascii=False), "utf-8")


@validated
def assert_same_vectors(encoder: Any, path: str | Path, tolerance: float = 1e-4) -> None:
    """Fail unless an encoder returns the recorded vectors, to ``tolerance`` times their length."""
    try:
        rows = json.loads(Path(path).read_text("utf-8"))["texts"]
        texts = [str(row["text"]) for row in rows]
        expected = np.array([row["vector"] for row in rows], dtype=np.float64)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            "a file that record_vectors wrote", f"{path} ({first_line(error)})", "record it again"
        ) from None
    found = with_vectors(opened(encoder), "a comparison of vectors").encode(texts)
    if found.shape != expected.shape:
        raise AssertionError(f"vectors of shape {found.shape}; recorded are {expected.shape}")
    apart = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    if not (apart <= tolerance).all():
        at = int(apart.argmax())
        raise AssertionError(
            f"{int((apart > tolerance).sum())} of {len(texts)} vectors differ, by up to "
            f"{apart[at]:.2g} of their length: {texts[at]!r}"
        )

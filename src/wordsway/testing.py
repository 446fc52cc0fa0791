"""Assertions about encoders, for the tests of other projects.

>>> cases = [("It is safe.", "It is harmless.", "It is not safe.")]
>>> def letters(texts):
...     return [[float("not" in text), 1.0] for text in texts]
>>> assert_notices(letters, cases)

>>> def sentiment(texts):
...     return ["negative" if "not" in text.split() else "positive" for text in texts]
>>> assert_flips(sentiment, [("It is good.", "It is not good.")])
>>> assert_stays(sentiment, [("It is good.", "It is very good.")])
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch

from wordsway.core.atomic import atomic
from wordsway.core.checks import Within, validated
from wordsway.core.errors import InputError, first_line
from wordsway.models.encoders import BlackBox, PairScorer, opened, with_vectors
from wordsway.models.heads import is_classifier
from wordsway.models.probe import Probe
from wordsway.probing.relative import cosine_distance
from wordsway.probing.targets import LogitsTarget

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
    checked = _checked(cases, ("text", "rewording", "change"))
    model = opened(encoder)
    if isinstance(model, Probe) and is_classifier(model):
        warnings.warn(
            f"{model.name} has a classification head, which assert_notices ignores: it compares "
            "embeddings. Use assert_flips and assert_stays to compare labels",
            UserWarning,
            stacklevel=3,
        )
    near, far = _distances(model, checked)
    failed = [at for at in range(len(checked)) if not far[at] > near[at]]
    good = len(checked) - len(failed)
    if _share_reached(good, len(checked), at_least):
        return
    lines = [
        f"{model.name} notices {good} of {len(checked)} changes of meaning; "
        f"at least {at_least:.0%} are required"
    ]
    for at in failed[:SHOWN]:
        text, rewording, change = checked[at]
        lines.append(
            f"  distance from {text!r}: {near[at]:.3g} to the rewording {rewording!r}, "
            f"{far[at]:.3g} to the change {change!r}"
        )
    raise AssertionError("\n".join(lines))


def _checked(cases: Sequence[Sequence[str]], names: tuple[str, ...]) -> list[Any]:
    """The cases as tuples of as many texts as there are names."""
    found = [tuple(case) for case in cases]
    count = len(names)
    bad = [one for one in found if len(one) != count or not all(isinstance(t, str) for t in one)]
    if bad or not found:
        got = repr(bad[0])[:60] if bad else "none"
        number = {2: "two", 3: "three"}[count]
        what = "pairs" if count == 2 else "cases"
        raise InputError(f"{what} ({', '.join(names)})", got, f"pass {number} texts each")
    return found


def _distances(model: Any, cases: list[Case]) -> tuple[np.ndarray, np.ndarray]:
    """From each text to its rewording and to its change."""
    if isinstance(model, PairScorer):
        pairs = [(case[0], case[which]) for which in (1, 2) for case in cases]
        near, far = -model.scores(pairs).reshape(2, -1)
        return near, far
    vectors = torch.from_numpy(model.encode([text for case in cases for text in case]))
    texts, rewordings, changes = vectors.reshape(len(cases), 3, -1).unbind(1)
    return cosine_distance(texts, rewordings).numpy(), cosine_distance(texts, changes).numpy()


@validated
def assert_flips(
    model: Any, pairs: Sequence[Sequence[str]], at_least: Annotated[float, Within(0, 1)] = 1.0
) -> None:
    """Fail unless a classifier gives the two texts of a pair different labels.

    Parameters
    ----------
    model : a Hugging Face classifier: its folder, hub id, or (model, tokenizer); or a function of a
        list of texts that returns their labels or a score for each class (``pipeline.predict`` or
        ``pipeline.predict_proba`` of scikit-learn)
    pairs : two texts each
    at_least : the share of pairs whose labels have to differ
    """
    _compare_labels(model, pairs, at_least, "flips")


@validated
def assert_stays(
    model: Any, pairs: Sequence[Sequence[str]], at_least: Annotated[float, Within(0, 1)] = 1.0
) -> None:
    """Fail unless a classifier gives the two texts of a pair the same label.

    The parameters are those of `assert_flips`; ``at_least`` is the share of equal labels.
    """
    _compare_labels(model, pairs, at_least, "stays")


def _share_reached(good: int, total: int, share: float) -> bool:
    """Whether ``good`` of ``total`` is at least a share, which rounding does not decide.

    >>> _share_reached(7, 25, 0.28), _share_reached(1, 5, 0.2), _share_reached(6, 25, 0.28)
    (True, True, False)
    """
    return good / total >= share - 1e-12


def _compare_labels(
    model: Any, pairs: Sequence[Sequence[str]], at_least: float, expected: str
) -> None:
    checked = _checked(pairs, ("text", "changed text"))
    name, labels = _labels(model, [text for pair in checked for text in pair])
    both = list(zip(labels[::2], labels[1::2], strict=True))
    failed = [at for at, (a, b) in enumerate(both) if (a != b) != (expected == "flips")]
    good = len(checked) - len(failed)
    if _share_reached(good, len(checked), at_least):
        return
    lines = [
        f"the label of {name} {expected} in {good} of {len(checked)} pairs; "
        f"at_least={at_least:g} is required"
    ]
    for at in failed[:SHOWN]:
        (a, b), (before, after) = checked[at], both[at]
        lines.append(f"  {a!r}: {before}, {b!r}: {after}")
    if len(failed) > SHOWN:
        lines.append(f"  and {len(failed) - SHOWN} more")
    raise AssertionError("\n".join(lines))


def _labels(model: Any, texts: list[str]) -> tuple[str, list[str]]:
    """The model's name, and the label that it gives each text."""
    found = opened(model)
    if isinstance(found, Probe):
        labels = [label for label, _ in LogitsTarget(found).predictions(texts)]
        if not labels:
            raise _no_labels(found.name, "no single label")
        return found.name, labels
    if not isinstance(found, BlackBox) or found.kind != "function":
        raise _no_labels(found.name, str(found.describe().get("type")))
    return found.name, _labels_of(found.name, found.function, texts)


def _labels_of(name: str, function: Callable[[list[str]], Any], texts: list[str]) -> list[str]:
    """The labels that a function returns, or the classes with the largest score."""
    answer = np.asarray(function(texts))
    if len(answer) != len(texts) or answer.ndim not in (1, 2):
        expected = f"a label or a row of scores for each of {len(texts)} texts from {name}"
        raise InputError(expected, f"shape {answer.shape}", "return one per text")
    if answer.ndim == 2 and answer.shape[1] > 1:
        return [f"class {at}" for at in answer.argmax(1)]
    if answer.dtype.kind == "f" and (answer != answer.round()).any():
        raise _no_labels(name, "one score per text")
    return [str(one) for one in answer.reshape(len(texts)).tolist()]


def _no_labels(name: str, got: str) -> InputError:
    return InputError(
        "a classifier: labels, or a score for each of two or more classes",
        f"{name} ({got})",
        "pass a Hugging Face classifier, pipeline.predict or pipeline.predict_proba",
    )


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
    Path(path).parent.mkdir(parents=True, exist_ok=True)
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
    length = np.linalg.norm(expected, axis=1)
    length = np.where(length > 0, length, np.linalg.norm(found, axis=1))
    apart = np.linalg.norm(found - expected, axis=1) / np.where(length > 0, length, 1.0)
    if not (apart <= tolerance).all():
        at = int(apart.argmax())
        raise AssertionError(
            f"{int((apart > tolerance).sum())} of {len(texts)} vectors differ, by up to "
            f"{apart[at]:.2g} of their length: {texts[at]!r}"
        )

"""What learning will cost, before it is run: the real code on few training texts, extrapolated;
memory is counted.
"""

from __future__ import annotations

import time

import torch

from wordsway.experiments.forecast import Forecast
from wordsway.experiments.lessons import FirstTexts, GaussianLessons, Lesson, lesson_bytes
from wordsway.experiments.trials import Request
from wordsway.learning.learn import evaluate_words, search_changes
from wordsway.learning.problem import update_interpolator
from wordsway.runtime import peak_bytes

#: Training texts of the two runs that tell how time grows, and words of a vocabulary that tell how
#: long all of them take.
FEW, SOME, WORDS, VOCABULARY = 6, 18, 256, 30_522


def forecast_lesson(lesson: Lesson) -> Forecast:
    """Time and memory of a lesson. Gaussian rows stand in for a corpus: interpolating and searching
    cost the same.

    Posing takes t = aN + bN² (features, and their Gram matrix), through two measurements; a search
    takes what it takes with few texts.
    """
    request, N, base = lesson.request, lesson.train, peak_bytes()
    if N <= SOME:
        pose_seconds, search_seconds = _timed(lesson, N)
    else:
        (few, _), (some, search_seconds) = _timed(lesson, FEW), _timed(lesson, SOME)
        square = max(0.0, (some / SOME - few / FEW) / (SOME - FEW))
        pose_seconds = max(some / SOME - square * SOME, 0.25 * some / SOME) * N + square * N**2
    return Forecast(
        request.trials * (pose_seconds + search_seconds), base + lesson_bytes(request, N)
    )


def _timed(lesson: Lesson, N: int) -> tuple[float, float]:
    """Seconds of posing the problem with N training texts, and of searching all of its words."""
    request: Request = lesson.request
    source = GaussianLessons(request.n, request.d, request.seed)
    started = time.perf_counter()
    phi, new, labels = (
        request.build(0),
        source.draw(N).sample,
        [source.label(at) for at in range(N)],
    )
    problem = update_interpolator(
        phi, FirstTexts(source, N), labels, new, source.label(N), update=lesson.update, rows=[0]
    )
    posed = time.perf_counter()
    next(
        search_changes(
            problem, [0], loss=lesson.loss, penalty=lesson.penalty, certificate=request.certificate
        )
    )
    seconds = (time.perf_counter() - posed) * request.searched
    if lesson.real_words:
        begun = time.perf_counter()
        evaluate_words(problem, 0, torch.randn(WORDS, request.d))
        seconds += (time.perf_counter() - begun) * VOCABULARY / WORDS
    return posed - started, seconds

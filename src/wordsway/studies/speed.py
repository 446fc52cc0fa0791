"""How fast this machine is: work turned into seconds.

The one place that times anything for a forecast. A trial that takes a moment is run as it is;
a larger one is made smaller, run, and scaled by the work that the registry counts for both.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache

import torch

from wordsway.core.runtime import single_thread
from wordsway.core.vectors import ball_radius
from wordsway.gaussian.joint import CHUNK
from wordsway.learning.features import BLOCK, TrainingFeatures
from wordsway.learning.losses import FlipSetting
from wordsway.learning.problem import FlipProblem
from wordsway.optimize.ranking import MANY
from wordsway.studies.cost import search_cost, trial_cost
from wordsway.studies.flips import learning_of
from wordsway.studies.measure import run_trial
from wordsway.studies.request import Request
from wordsway.studies.texts import GaussianTexts, LabelledGaussianTexts, TextOptions

#: A run of so many seconds tells enough; a tried request takes at most so many bytes.
MOMENT, MOST_BYTES = 0.5, 2e8
#: Efforts that are tried, as shares of the request's.
EFFORTS = (0.02, 0.1, 0.3, 1.0)
#: Rows that are tried where many are asked for.
TRIED_ROWS = MANY + 4
#: Training texts of the two runs that tell how time grows with them, both full blocks; words of a
#: vocabulary that tell how long all of them take.
FEW, SOME, WORDS, VOCABULARY = BLOCK, 3 * BLOCK, 256, 30_522
#: Columns of the products that tell how long a Gram matrix takes.
COLUMNS = 4096


def family_of(request: Request) -> Hashable:
    """Trials whose time follows their work: the same map and plan, whatever the sizes."""
    own = tuple(sorted((name, value) for name, value in request.settings.items() if name != "k"))
    learns = request.learning is not None
    many = request.rows > MANY
    return (request.map, own, many, request.certificate, request.effort, learns)


def trial_seconds(request: Request, *, one_core: bool = True) -> float:
    """Seconds of one trial on this machine. Gaussian rows stand in for a corpus: searching them
    costs the same.
    """
    plain = _plain(request)
    with single_thread(one_core):
        return sum(_learning(plain)) if request.learning is not None else _search(plain)


def searching_seconds(request: Request) -> float:
    """Seconds of a learning trial whose training texts are interpolated already, on one core."""
    with single_thread(True):
        return _learning(_plain(request))[1]


def _plain(request: Request) -> Request:
    rows = request.positions if request.positions == "all" else tuple(range(request.rows))
    return replace(request, data="gaussian", texts=TextOptions(), positions=rows, trials=1)


def smaller(request: Request) -> Request:
    """A request like this one that fits a modest memory: few rows of many, then smaller n and d."""
    rows = min(request.rows, TRIED_ROWS)
    few = request.positions if request.rows <= rows else tuple(range(rows))
    tried = replace(request, positions=few)
    scale = 1.0
    while search_cost(tried).bytes > MOST_BYTES and (tried.n > rows or tried.d > 1):
        scale *= 0.8
        options = dict(request.options)
        if "k" in options:
            options["k"] = max(1, round(scale**2 * options["k"]))
        # Heads share the dimensions evenly, RoPE turns them in pairs; windows fit into the text.
        step = 2 * options["heads"] if "heads" in options else 1 + (options.get("pe") == "rope")
        n = max(rows, options.get("visible", 1), round(scale * request.n))
        d = max(step, round(scale * request.d / step) * step)
        tried = replace(tried, n=n, d=d, options=options)
    return tried


def _search(request: Request) -> float:
    """Seconds = a + b·work: the least effort tells a, and more is tried until it tells b."""
    tried = smaller(request)
    _run(replace(tried, positions=(0,), effort=EFFORTS[0]))  # the first run takes longer
    runs: list[tuple[float, float]] = []
    for effort in EFFORTS:
        less = replace(tried, effort=max(0.01, effort * request.effort))
        runs.append((search_cost(less).work, _run(less)))
        if runs[-1][1] - runs[0][1] > MOMENT:
            break
    (least, overhead), (most, seconds) = runs[0], runs[-1]
    work = search_cost(tried).work
    if work > most > least:
        seconds += max(seconds - overhead, 0.1 * seconds) * (work - most) / (most - least)
    return seconds * search_cost(request).work / work


@lru_cache(maxsize=256)
def _run(request: Request) -> float:
    started = time.perf_counter()
    run_trial(request, GaussianTexts(request.n, request.d, 0), 0)
    return time.perf_counter() - started


@lru_cache(maxsize=256)
def _learning(request: Request) -> tuple[float, float]:
    """Seconds to set up, and to search. Setting up takes a + bN, through two measurements, and a
    Gram matrix; weights that are drawn for many texts take a for every chunk of them.
    """
    learning = learning_of(request)
    while trial_cost(_with_texts(request, SOME)).bytes > 4 * MOST_BYTES and request.n > 4:
        request = replace(request, n=int(0.85 * request.n), positions=(0,))
    N = learning.train
    _set_up(request, min(N, FEW))  # the first run takes longer
    if N <= SOME:
        setting_up, problem = _set_up(request, N)
        return setting_up, _searched(request, problem)
    few, _ = _set_up(request, FEW)
    some, problem = _set_up(request, SOME)
    each = max(0.0, (some - few) / (SOME - FEW))
    once = max(0.0, few - FEW * each)
    chunks = -(-N // CHUNK) if request.kind.joint else 1
    setting_up = once * chunks + each * N + _gram_seconds() * N**2 * request.features
    return setting_up, _searched(request, problem)


def _with_texts(request: Request, train: int) -> Request:
    return replace(request, learning=replace(learning_of(request), train=train))


def _set_up(request: Request, train: int) -> tuple[float, FlipProblem]:
    """Seconds of setting up a problem with so many training texts, and the problem."""
    started = time.perf_counter()
    source = LabelledGaussianTexts(request.n, request.d, request.seed)
    features = TrainingFeatures(request.build(0), source.matrix, train, [0])
    labels = [source.label(number) for number in range(train)]
    problem = FlipProblem(features, labels, source.draw(train).sample, source.label(train))
    return time.perf_counter() - started, problem


def _searched(request: Request, problem: FlipProblem) -> float:
    """Seconds of searching all rows, from the first one."""
    learning = learning_of(request)
    setting = FlipSetting(*learning.settings)
    started = time.perf_counter()
    problem.search(
        0,
        [setting],
        radius=ball_radius(request.radius, request.d),
        certificate=request.certificate,
    )
    seconds = request.rows * (time.perf_counter() - started)
    if learning.real_words:
        begun = time.perf_counter()
        problem.errors(0, torch.randn(WORDS, request.d), setting.update)
        seconds += (time.perf_counter() - begun) * VOCABULARY / WORDS
    return seconds


@lru_cache(maxsize=1)
def _gram_seconds() -> float:
    """Seconds per feature and pair of texts, of which one half is computed."""
    block = torch.ones(CHUNK, COLUMNS)
    started = time.perf_counter()
    for _ in range(2):
        block @ block.T
    return (time.perf_counter() - started) / (4 * CHUNK**2 * COLUMNS)

"""One example of every result, around any text, with numbers that are not round.

``EXAMPLES`` is the table that the contract of `wordsway.render` runs over: a result without a line
here fails it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from experiment_examples import (
    corpus_words,
    forecast,
    lessons,
    measurement,
    reproduction,
    sweep,
    sweep_forecast,
)
from probed import words_of
from wordsway.auditing.background import place_of
from wordsway.auditing.blind_spots import BlindSpot
from wordsway.auditing.changes import EditEffect
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.flips import FlipScore
from wordsway.auditing.pairs import Pair, PairInModel, Pairs
from wordsway.auditing.result import Audit, ModelAudit
from wordsway.auditing.retrieval import RankMove, Retrieval
from wordsway.auditing.scores import KindScore, LevelScore, Measured, OverlapBin, Score
from wordsway.auditing.table import RefusedRow
from wordsway.auditing.thresholds import Threshold
from wordsway.core.chart import Chart, Curve, Panel, PointSeries, ReferenceLine, Tiles
from wordsway.core.reading import Token, word_spans
from wordsway.core.result import Result
from wordsway.data.fetch import Catalogue
from wordsway.engine.forecast import SweepForecast
from wordsway.intervals import Sensitivity, WordSensitivity
from wordsway.learning.results import FlipResult, FlipRow
from wordsway.lengths.responses import READ_OUTS, Response
from wordsway.lengths.result import Length, MeasuredText, ModelLength
from wordsway.maps.proof import Verification
from wordsway.paper.reproduce import Reproduction
from wordsway.probing.attention import AttentionMap, AttentionMaps
from wordsway.probing.attract import Attracted
from wordsway.probing.compare import Comparison, LayerChange, NextToken, Side
from wordsway.probing.corpus import CorpusWords
from wordsway.probing.differences import word_edits
from wordsway.probing.results import Swap, Swaps, Words
from wordsway.studies.flips import FlipTrials
from wordsway.studies.forecast import Forecast
from wordsway.studies.measure import Measurement
from wordsway.studies.sweep import Sweep

PLAIN = "The film was not bad, but the end of the film was."
MODEL = {
    "name": "tiny/<b>model</b>[/b]\x1b[31m",
    "sha256": "0123abcd" * 8,
    "dtype": "float32",
    "device": "cpu",
}
VERSIONS = {"wordsway": "0.9", "torch": "2.4"}
#: Words that do harm where they are not made harmless.
WORDS = ("</script>", "\x1b[2Jgone", "[/b]", '=HYPERLINK("http://x")', "[link=x]y", "שלום")


def tokens_of(text: str, most: int = 8) -> list[str]:
    """The first words of a text, as a table would name them."""
    return [text[start:end] for start, end in word_spans(text)[:most]]


def matrices(n: int) -> list[np.ndarray]:
    """Two matrices whose rows sum to 1."""
    return [np.random.default_rng(seed).dirichlet(np.ones(n), size=n) for seed in (0, 1)]


def sensitivity(text: str) -> Sensitivity:
    words = [*tokens_of(text), *WORDS]
    rows = tuple(
        WordSensitivity(row, word, 0.4321 - 0.0123 * row, 0.8765 - 0.0234 * row, row)
        for row, word in enumerate(words)
    )
    return Sensitivity(
        lower=rows[0].lower,
        upper=rows[0].upper,
        certificate="float64",
        position=0,
        delta=torch.linspace(0, 1, 4, dtype=torch.float64),
        words=rows,
        status="converged",
        seed=5,
        seconds=1.5,
        radius=2.125,
        n=len(words),
        d=4,
        map={"map": "raf", "weight": text[:20]},
        versions=VERSIONS,
    )


def verification(text: str) -> Verification:
    return Verification(
        rows=(0, 3),
        uppers=(0.8765, 0.8531),
        radius=2.125,
        map={"kind": "attention", "scores": "softmax"},
        inputs={"X": "0123abcd" * 8},
        about={"map": {"map": text[:20]}},
        bytes=4500,
        seconds=1.5,
    )


def words(text: str) -> Words:
    return replace(words_of(text), model=MODEL)


def swaps(text: str) -> Swaps:
    best = tuple(
        Swap(word, 0.5123 - 0.0456 * place, 7 + place)
        for place, word in enumerate([text[:20], *WORDS])
    )
    start, end = word_spans(text)[0]
    return Swaps(
        text=text,
        index=0,
        word=text[start:end],
        target="layer 4",
        swaps=best,
        candidates=30522,
        evaluated=64,
        worst=0.8111,
        model=MODEL,
        seed=5,
        seconds=1.25,
        versions=VERSIONS,
    )


def comparison(text: str) -> Comparison:
    other = " ".join([*text.split()[:-1], "good"])
    likely = tuple(
        NextToken(place, piece, 0.5 / (place + 1), 0.25 / (place + 1))
        for place, piece in enumerate([" the", "\n", *WORDS, text[:9]])
    )
    first, second = (
        Side(prompt, ("a", "b"), (1, 2 + cut), f"{prompt[:60]}\nso it is", 9, cut, likely)
        for prompt, cut in ((text, True), (other, False))
    )
    layers = tuple(
        LayerChange(layer, 0.0456 * layer, None if layer else 0.0, 0.1234 * layer + 1e-5)
        for layer in range(5)
    )
    return Comparison(
        a=first,
        b=second,
        edits=word_edits(text, other),
        layers=layers,
        aligned=2,
        prefix=1,
        suffix=1,
        kl_ab=0.0567,
        kl_ba=0.0678,
        chat=True,
        model=MODEL,
        seconds=3.5,
        peak_mb=99.0,
        versions=VERSIONS,
    )


def attention(text: str) -> AttentionMaps:
    spans = word_spans(text)[:8]
    tokens = tuple(
        Token(text[start:end], start, end, "word", index)
        for index, (start, end) in enumerate(spans)
    )
    labels = tuple(token.piece for token in tokens)
    maps = tuple(AttentionMap(text, tokens, labels, matrix) for matrix in matrices(len(tokens)))
    return AttentionMaps(maps, 1, 6, "mean", 12, False, MODEL, 0.5, 55.0, VERSIONS)


def attracted(text: str) -> Attracted:
    names = (*tokens_of(text, 4), *WORDS[:3])
    before, after = (tuple(map(tuple, matrix.tolist())) for matrix in matrices(len(names)))
    return Attracted(
        text=text,
        tokens=names,
        rows=(1,),
        head=4,
        reach=1.0,
        profile=(0.1111, 0.2222, 0.3333),
        noise=(0.1, 0.05, 0.03),
        before=before,
        after=after,
        model=MODEL,
        seed=7,
        seconds=0.5,
        versions=VERSIONS,
    )


def chart(text: str) -> Chart:
    x = [10.0, 20.0, 40.0]
    panel = Panel(
        text[:30],
        curves=[
            Curve(text[:12], x, [0.7123, 0.5432, 0.4321], [0.0123] * 3, [0.8111, None, 0.5111]),
            Curve(WORDS[3], x, [0.6111, 0.4111, 0.3111], colour=1, dashed=True),
        ],
        references=[ReferenceLine(WORDS[2], x, [0.6543, 0.4654, 0.3287])],
        logarithmic=True,
    )
    cloud = Panel(
        WORDS[0],
        points=[PointSeries(WORDS[1], [0.5123, 2.9123], [1.2345, 7.5], 2, "x")],
        x_label="γ",
        y_label="error",
        right=3.0,
        top=5.0,
    )
    tiles = Tiles(WORDS[4], [0.5, 2.0], [32, 32], [1.26, 0.84], [1.53, None])
    return Chart([panel, cloud, Panel(WORDS[5], tiles=[tiles], x_label="n/d", y_label="d")])


def learning(text: str) -> FlipResult:
    rows = tuple(
        FlipRow(
            position=row,
            before_original=0.1234,
            before_changed=-0.4567 - 0.1 * row,
            after_original=1.0,
            after_changed=-0.3456 + 0.1 * row,
            error=0.4282 + 0.1 * row,
            gamma=0.5801 + 0.1 * row,
            alignment=0.7123,
            bound=0.0512 if row else None,
            sensitivity=0.8123,
            v_norm=3.25,
            phi_norm=4.5,
            rank=9,
            condition=12.25,
            label=1,
            seconds=0.25,
            delta=torch.linspace(0, 1, 4, dtype=torch.float64),
        )
        for row in range(3)
    )
    return FlipResult(
        rows=rows,
        update="fine-tune",
        loss="direct",
        penalty=0.0,
        train=9,
        radius=2.125,
        n=3,
        d=4,
        seed=6,
        seconds=0.75,
        map={"map": f"[/b] {text[:20]}"},
        versions=VERSIONS,
    )


def pairs(text: str) -> Pairs:
    other = " ".join([*text.split()[:-1], "good"])
    models = (
        PairInModel(
            MODEL["name"],
            0.9697,
            0.2521,
            12.5,
            0.81,
            (0.0123, 0.3, 0.2521),
            1,
            0,
            0,
            (),
            7.25,
            20.5,
        ),
        PairInModel("b", -0.1, 1.5, None, None, (0.1, 1.5), 1),
    )
    both = (
        Pair(text, other, text[:30], 1, place_of(text, other), models),
        Pair(text, f"Not {text}", "", 2, place_of(text, f"Not {text}"), models),
    )
    refused = (RefusedRow(3, f"the text has no word {text[:20]!r}"),)
    return Pairs(both, (MODEL, MODEL | {"name": "b"}), refused, 100, 3, 1.5, VERSIONS)


def audit(text: str) -> Audit:
    layers = (Score(0.4512, 0.4012, 0.5012), Score(0.7123, 0.6512, 0.7712))
    levels = {
        "small": LevelScore(40, 0.7123, 0.6512, 0.7712, 0.8123, layers),
        "rewording": LevelScore(40, 0.2123, 0.1512, 0.2712, 0.3123, layers),
    }
    score = KindScore(
        kind=f"negation {text[:12]}",
        levels=levels,
        median_turning=0.1876,
        median_keeping=0.1234,
        blind=0.275,
        percentile=61.5,
        percentile_low=52.25,
        percentile_high=70.5,
        percentile_keeping=40.25,
        cosine_change=0.9123,
        cosine_rewording=0.7123,
        matched=levels["rewording"],
    )
    edit = Edit(text, 0, text[:5], "", f"negation {text[:12]}", "turning")
    change = EditEffect(0.1876, 61.5, 0.2, 0.8124, (0.0, 0.1876), (0.0, 0.4))
    moved = (0.0432, 33.0, f"synonyms {text[:12]}", text[::-1], text[:9], text[3:12], 0.0876)
    spot = BlindSpot(f"negation {text[:12]}", text, text[5:], 0, text[:5], "", *moved)
    model = ModelAudit(
        name=MODEL["name"],
        about=MODEL,
        kinds=(score,),
        levels=levels,
        matched=levels["rewording"],
        overlap=(OverlapBin(0.1, 0.3, 40, 0.2123, 0.1512, 0.2712),),
        thresholds=(Threshold(0.9, 0.4123, 0.3512, 0.4712, 0.5123, 0.4512, 0.5712),),
        equal=Threshold(0.8765, 0.4567, 0.3512, 0.4712, 0.4567, 0.4512, 0.5712),
        flips=(FlipScore(f"negation {text[:12]}", "flip", 40, 0.6123, 0.5512, 0.6712),),
        paired=Score(0.3123, 0.2512, 0.3712),
        blind_spots=(spot,),
        retrieval=(Retrieval(f"negation {text[:12]}", "turning", 40, 0.85, 0.7, 1.0, 0.8, 0.9),),
        measured=(Measured(text[:12], text, (edit,), (change,)),),
        failed=(RefusedRow(3, text[:20]),),
        moves=(RankMove(edit, 0.9, 2, text),),
    )
    return Audit(
        models=(model,),
        baselines=(replace(model, name="word overlap"),),
        data=text[:20],
        texts=40,
        unused=2,
        target="pooled",
        draws=100,
        seed=3,
        refused=(RefusedRow(4, text[:20]),),
        gate=(f"{text[:10]} is below",),
        interrupted=False,
        seconds=12.5,
        versions=VERSIONS,
    )


def catalogue(text: str) -> Catalogue:
    entries = tuple(
        {
            "name": f"[/b]{text[:12]}",
            "kind": "corpus",
            "about": text,
            "licence": text[:20],
            "bytes": 92_000_000,
            "here": here,
            "folder": text[:20] if here else None,
            "from": text[:20] if here else None,
            "sources": [text[:20], "=HYPERLINK(1)"],
            "files": {text[:9]: "0123"},
        }
        for here in (True, False)
    )
    return Catalogue(text[:20], entries)


@dataclass(frozen=True)
class Example:
    """How to make a result around a text.

    ``shown``: numbers that terminal, notebook, page and picture all say; ``tabled``: numbers of
    ``frame()``.
    """

    make: Callable[[str], Result]
    shown: tuple[float, ...]
    tabled: tuple[float, ...]


def length(text: str) -> Length:
    """Two texts over three lengths in a model of that name, and a twin."""
    layers: dict[str, tuple[float, ...]] = dict.fromkeys(READ_OUTS, (0.1,))

    def roles(n: int) -> dict[str, Response]:
        shares = {"change": 1.0, "rewording": 0.5, "word": 2.0}
        return {
            role: Response(n, 4, share * 8.642 / n, share / n, 1.0, layers)
            for role, share in shares.items()
        }

    windows = tuple(roles(n) for n in (20, 40, 80))
    measured = tuple(MeasuredText(name, "negation", windows) for name in ("1", "2"))
    one, twin = (
        ModelLength(name, (1, 2, 4), measured, (), 0.05, 7, "a" * 64)
        for name in (text, f"{text}:random")
    )
    return Length(
        models=(one,),
        baselines=(twin,),
        data="imdb",
        host="own",
        place="own",
        kinds=("negation",),
        target="pooled",
        windows=(1, 2, 4),
        texts=2,
        too_long=0,
        level=0.05,
        seed=7,
        interrupted=False,
        seconds=83.0,
        versions=VERSIONS,
    )


EXAMPLES: dict[type[Result], Example] = {
    Sensitivity: Example(sensitivity, (0.4321, 0.8765, 0.4198, 0.8531), (0.4321, 0.8765, 0.4198)),
    Verification: Example(verification, (0.8765, 0.8531), (0.8765, 0.8531)),
    Words: Example(words, (0.6217, 1.084, 0.1977), (0.6217, 1.084, 0.1977)),
    Swaps: Example(swaps, (0.5123, 0.4667, 0.8111, 30522), (0.5123, 0.4667, 7)),
    Comparison: Example(comparison, (0.0567, 0.0678), (0.0456, 0.1234)),
    AttentionMaps: Example(attention, (1, 6, 12), tuple(matrices(8)[0][0, :2].tolist())),
    Attracted: Example(attracted, (0.3333, 0.2222, 4), (0.1111, 0.2222, 0.3333, 0.05)),
    FlipResult: Example(learning, (0.4282, 0.5801, 0.5282), (0.4282, 0.5801, 0.0512)),
    Pairs: Example(pairs, (0.9697,), (0.9697, 0.2521)),
    Audit: Example(audit, (0.7123,), (0.7123, 0.6512, 0.275)),
    Length: Example(length, (0.4321, 0.8642), (0.4321, 0.8642)),
    Measurement: Example(
        measurement, (0.4321, 0.8765, 0.4198, 0.0731, 0.0567, 0.0922), (0.4321, 0.8765, 0.0731)
    ),
    FlipTrials: Example(lessons, (0.4282, 0.5801, 0.5282), (0.4282, 0.5801, 0.0512)),
    Forecast: Example(forecast, (), (83.0, 1400.0)),
    SweepForecast: Example(sweep_forecast, (123, 400), (83.0, 1400.0)),
    Sweep: Example(sweep, (6, 12, 0.4259, 0.4014), (0.4321, 0.8765)),
    CorpusWords: Example(corpus_words, (0.4321, 0.3321, 0.2123), (0.4321, 0.3321, 0.2123)),
    Reproduction: Example(reproduction, (-0.5123,), ()),
    Catalogue: Example(catalogue, (), (92e6,)),
    Chart: Example(chart, (10, 20, 40, 1.26), (0.7123, 0.5432, 0.6111, 0.6543, 1.2345, 0.84)),
}

"""Does word sensitivity appear before a task is learnt? S at checkpoints of training.

In both tasks one word decides the label: "always" or "never" among random words, or a negation in
a sentence of a review. Each word has a fixed random row of norm √d, so that texts and the ball of Δ
are the same at every checkpoint, and S does not depend on the scale of φ. Three networks are
trained with a linear classifier on top:

    attention        φ(X) = softmax(XWXᵀ/√d)X      W ~ N(0, 1/d) at first; or a tenth of that
    fully connected  φ(X) = ReLU(V vec X)          V ~ N(0, 1/D) at first
    transformer      two pre-norm blocks of torch  no certificate

The control is the same training with shuffled labels: weights grow, and no word matters.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from wordsway import data as catalogue
from wordsway.auditing.audit import places_of
from wordsway.auditing.background import USES, known_words
from wordsway.auditing.cases import Case, edited_case, plain, sentences
from wordsway.auditing.changes import changes_of
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.edits.lexicon import negated
from wordsway.auditing.encoder import BlackBoxEncoder
from wordsway.auditing.scores import Measured, kind_score
from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.laws import Interval, mean_interval
from wordsway.core.reading import word_spans
from wordsway.core.result import fields_of
from wordsway.core.runtime import single_thread
from wordsway.core.sample import Sample
from wordsway.core.seeds import derive, generator
from wordsway.engine.job import PROCESS_WITH_MODEL, Job
from wordsway.engine.store import Store
from wordsway.engine.tables import FACTS
from wordsway.intervals import MEMORY, sensitivity
from wordsway.maps.attention.family import RAF
from wordsway.maps.average import random_changes
from wordsway.maps.base import FeatureMap
from wordsway.maps.callable import CallableMap
from wordsway.maps.dense.definition import RF
from wordsway.models.encoders import BlackBox
from wordsway.paper.figure import OWN, Finding, GridFigure, Sources, decide
from wordsway.paper.sensitivity_curves import certificates
from wordsway.text import corpus, draw

if TYPE_CHECKING:
    import pandas

#: Rows and dimensions of a text, neurons of the fully connected layer.
N, D, NEURONS = 32, 64, 256
#: Pairs of texts to train and to test with; texts of the audit, and of S.
PAIRS, TEST, AUDITED, SEARCHED = 2000, 200, 40, 2
BATCH = 64
#: Checkpoints in steps of training, and those with shuffled labels.
STEPS, SHUFFLED_STEPS = (0, 8, 16, 32, 64, 256), (32, 256)
SEEDS, QUICK_SEEDS = 5, 3
#: Reviews whose sentences are read at most, random words next to each edit, random Δ of mean local
#: and their length, as a share of √d.
REVIEWS, DRAWS, MOVES, SMALL = 8000, 8, 64, 1e-3
#: The effort of a search by full passes of the transformer.
COSTLY = 0.1
#: The task is not learnt while the test error is above this.
UNLEARNT = 0.4
#: S counts as present at this share of its value after training.
THERE = 0.8
#: A percentile of 50 is that of a random word.
NO_MORE = 60.0
DECIDING = ("always", "never")
KINDS = {"synthetic": "deciding word", "imdb": "negation"}


class TrainedAttentionMatrix(nn.Module):
    """φ(X) = softmax(XWXᵀ/√d)X."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.W = nn.Parameter(scale * torch.randn(D, D) / math.sqrt(D))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return torch.softmax(X @ self.W @ X.mT / math.sqrt(D), -1) @ X

    def map(self) -> FeatureMap:
        return RAF(weight=self.W.detach())


class TrainedNeurons(nn.Module):
    """φ(X) = ReLU(V vec X)."""

    def __init__(self) -> None:
        super().__init__()
        self.V = nn.Parameter(torch.randn(NEURONS, N * D) / math.sqrt(N * D))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return torch.relu(X.flatten(-2) @ self.V.T)

    def map(self) -> FeatureMap:
        return RF(weight=self.V.detach(), n=N)


class TrainedBlocks(nn.Module):
    """Two pre-norm transformer blocks with four heads, positions before and a norm behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(0.1 * torch.randn(N, D))
        one = partial(nn.TransformerEncoderLayer, D, 4, 2 * D, 0.0, batch_first=True)
        self.blocks = nn.Sequential(one(norm_first=True), one(norm_first=True), nn.LayerNorm(D))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.blocks(X + self.positions)

    def map(self) -> FeatureMap:
        return CallableMap(copy.deepcopy(self).double().requires_grad_(False))


Network = TrainedAttentionMatrix | TrainedNeurons | TrainedBlocks
#: Networks by name, with their learning rates (Adam).
NETWORKS: dict[str, tuple[Callable[[], Network], float]] = {
    "attention": (TrainedAttentionMatrix, 3e-3),
    "attention, small weights": (lambda: TrainedAttentionMatrix(0.1), 3e-3),
    "fully connected": (TrainedNeurons, 1e-3),
    "transformer": (TrainedBlocks, 1e-3),
}


def spelled(text: str) -> list[str]:
    """The words of a text in small letters."""
    return [text[a:b].lower() for a, b in word_spans(text)]


def label(text: str) -> float:
    """1 for a text with the word "never" or another negation, else 0.

    >>> label("It is not good."), label("It is good."), label("tree never high")
    (1.0, 0.0, 1.0)
    """
    return float(any(negated(word) for word in spelled(text)))


@lru_cache(maxsize=2)
def read_cases(task: str, count: int, seed: int) -> list[Case]:
    """Texts of at most n words, each with the edit that changes its label first."""
    found = list(islice((_synthetic if task == "synthetic" else _reviews)(seed), count))
    if len(found) < count:
        raise InputError(f"{count} texts in {task}", len(found), "train on fewer")
    return found


def _synthetic(seed: int) -> Iterator[Case]:
    """n random words, one of which is "always" or "never"."""
    found = [word for word in known_words(USES) if not negated(word) and word not in DECIDING]
    pool = np.array(found)
    rng = np.random.default_rng(derive(seed, "synthetic"))
    while True:
        words = rng.choice(pool, N).tolist()
        places = rng.permutation(N)[:4].tolist()
        other, own = rng.permutation(DECIDING).tolist()
        words[places[0]] = own
        text = " ".join(words)
        starts = [sum(len(word) + 1 for word in words[:place]) for place in places]
        turning = Edit(text, starts[0], own, other, KINDS["synthetic"], "turning")
        keeping = [
            Edit(text, start, words[place], str(rng.choice(pool)), "another word", "keeping")
            for place, start in zip(places[1:], starts[1:], strict=True)
        ]
        yield Case.of(text, text, (turning, *keeping))


def _reviews(seed: int) -> Iterator[Case]:
    """Readable sentences of IMDb reviews, with a negation put in or taken out."""
    for review in draw(corpus("imdb"), REVIEWS, derive(seed, "training")):
        for number, text in enumerate(sentences(review.text)):
            case = None
            if plain(text):
                case = edited_case(f"{review.id} {number}", text, ["negation"], seed, careful=True)
            if case is not None and label(case.edits[0].edited) != label(text):
                every = [text, *(edit.edited for edit in case.edits)]
                if max(len(word_spans(one)) for one in every) <= N:
                    yield case


class WordRows:
    """Texts as matrices: a random row of norm √d for each word; the rest is the empty word's."""

    def __init__(self, seed: int) -> None:
        self.seed, self.table = seed, torch.zeros(0, D)
        self.index: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        words = [(spelled(text) + [""] * N)[:N] for text in texts]
        fresh = [word for row in words for word in row if word not in self.index]
        drawn = [self.table]
        for word in dict.fromkeys(fresh):
            self.index[word] = len(self.index)
            row = torch.randn(1, D, generator=generator(self.seed, "word", word))
            drawn.append(row * math.sqrt(D) / row.norm())
        self.table = torch.cat(drawn)
        return self.table[torch.tensor([[self.index[word] for word in row] for row in words])]

    def row(self, edit: Edit) -> tuple[torch.Tensor, int]:
        """The text with the negation, and the first row in which the texts of a pair differ."""
        texts = edit.text, edit.edited
        pair = self(texts)
        apart = (pair[0] != pair[1]).any(1)
        return pair[int(label(texts[1]))], int(apart.nonzero()[0])


@dataclass(frozen=True)
class TrainingJob(Job):
    """One network trained once, and measured at its checkpoints. Networks of one trial have the
    same texts and word rows, with true and with shuffled labels the same weights at first.
    """

    task: str
    network: str
    shuffled: bool
    trial: int
    seed: int
    corpus_sha256: str = ""
    pairs: int = PAIRS
    steps: tuple[int, ...] = STEPS
    kind: ClassVar[str] = "training"
    #: The meaning of stored outputs; raise it when the same content would give other numbers.
    version: ClassVar[int] = 1

    @cached_property
    def content(self) -> dict[str, Any]:
        return fields_of(self) | {"kind": self.kind, "version": self.version}

    @property
    def size(self) -> float:
        return float(max(self.steps) + 100 * len(self.steps))

    @property
    def family(self) -> Hashable:
        return (self.kind, self.task, self.network)

    @property
    def holds(self) -> str:
        return self.task

    def peak_bytes(self) -> float:
        return PROCESS_WITH_MODEL + 16 * (self.pairs + TEST) * N * D

    def estimate(self) -> float:
        tried = replace(self, steps=(0, 8))
        started = time.perf_counter()
        tried.run()
        return (time.perf_counter() - started) * self.size / tried.size

    def run(self) -> dict[str, Any]:
        """The measurements of every checkpoint. One thread: the same numbers for any workers."""
        here = catalogue.present("imdb")
        if self.corpus_sha256 and (here is None or here.digest != self.corpus_sha256):
            raise InputError("the reviews of the job", "others", "use the same on every machine")
        own = derive(self.seed, "training", self.task, self.trial)
        with single_thread(True), torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(own, "weights", self.network))
            make, rate = NETWORKS[self.network]
            return {"checkpoints": list(self._train(own, make(), rate))}

    def _train(self, own: int, network: Network, rate: float) -> Iterator[dict[str, Any]]:
        cases = read_cases(self.task, self.pairs + TEST, self.seed)
        drawn = generator(own, "examples")
        cases = [cases[at] for at in torch.randperm(len(cases), generator=drawn).tolist()]
        rows = WordRows(derive(own, "words"))
        (X, y), (X_test, y_test) = (_examples(rows, one) for one in (cases[TEST:], cases[:TEST]))
        if self.shuffled:
            y = y[torch.randperm(len(y), generator=generator(own, "shuffled"))]
        head = nn.Linear(pooled(network, X[:1]).shape[1], 1)
        adam = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=rate)
        for before, step in pairwise((0, *self.steps)):
            for _ in range(step - before):
                batch = torch.randint(len(y), (BATCH,), generator=drawn)
                logits = head(pooled(network, X[batch]))[:, 0]
                loss = nn.functional.binary_cross_entropy_with_logits(logits, y[batch])
                adam.zero_grad()
                loss.backward()
                adam.step()
            with torch.no_grad():
                wrong = (head(pooled(network, X_test))[:, 0] > 0) != y_test.bool()
                found: dict[str, Any] = {"step": step, "test_error": float(wrong.double().mean())}
                found |= self._audit(cases[:AUDITED], rows, network)
            yield found | self._sensitivity(cases[:SEARCHED], rows, network)

    def _audit(
        self, cases: Sequence[Case], rows: WordRows, network: Network
    ) -> dict[str, float | None]:
        """Scores, percentile and median change of what the classifier reads."""
        box = BlackBox(self.network, "trained", lambda texts: pooled(network, rows(texts)))
        encoder = BlackBoxEncoder(box, "pooled")
        effects = changes_of(encoder, places_of(cases), draws=DRAWS, seed=self.seed)
        measured = [
            Measured(case.id, case.text, case.edits, tuple(found))
            for case, found in zip(cases, effects, strict=True)
            if not isinstance(found, InputError)
        ]
        score = kind_score(measured, KINDS[self.task])
        if score is None or score.small is None:
            raise WordswayError(f"no text of {self.task} can be audited")
        reworded = score.levels.get("rewording")
        return {
            "score": score.small.score,
            "rewording": None if reworded is None else reworded.score,
            "percentile": score.percentile,
            "response": score.median_turning,
        }

    def _sensitivity(
        self, cases: Sequence[Case], rows: WordRows, network: Network
    ) -> dict[str, Any]:
        """S and mean local at the row of the deciding word, means over texts."""
        phi = network.map()
        found = []
        for case in cases:
            X, row = rows.row(case.edits[0])
            sample = Sample(X)
            effort = COSTLY if isinstance(phi, CallableMap) else 1.0
            s = sensitivity(phi, sample, positions=row, seed=self.seed, effort=effort)
            small = SMALL * math.sqrt(D)
            moves = random_changes(phi.view(sample), [row], small, MOVES, self.seed, MEMORY)
            local = float(moves.square().mean().sqrt()) / SMALL
            found.append((s.lower, math.nan if s.upper is None else s.upper, local))
        lower, upper, local = np.mean(found, axis=0).tolist()
        return {"lower": lower, "upper": None if math.isnan(upper) else upper, "local": local}


def pooled(network: Network, X: torch.Tensor) -> torch.Tensor:
    """The vectors that the classifier reads, (B, ·): the mean of the rows where φ has rows."""
    features: torch.Tensor = network(X)
    return features.mean(1) if features.ndim == 3 else features


def _examples(rows: WordRows, cases: Sequence[Case]) -> tuple[torch.Tensor, torch.Tensor]:
    """Both texts of each pair, (2·pairs, n, d), and their labels."""
    texts = [text for case in cases for text in (case.text, case.edits[0].edited)]
    return rows(texts), torch.tensor([label(text) for text in texts])


#: Panels of the picture: columns of the table, with their titles and axes.
PANELS = {
    "lower": ("Word sensitivity", "S"),
    "local": ("Small random moves", "mean local"),
    "percentile": ("Deciding word", "percentile"),
    "test_error": ("Task", "test error"),
}


@dataclass(frozen=True)
class TrainingStudy(GridFigure):
    """S, mean local sensitivity, the audit and the test error through training."""

    name: str = "training"
    title: str = "Does S appear before the task is learnt?"
    reviews: ClassVar[bool] = False
    study: ClassVar[bool] = True
    pairs: int = PAIRS
    steps: tuple[int, ...] = STEPS

    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> list[TrainingJob]:
        here = catalogue.present("imdb")
        tasks = {"synthetic": ""} | ({} if quick or here is None else {"imdb": here.digest})
        control = tuple(step for step in self.steps if step in (*SHUFFLED_STEPS, self.steps[-1]))
        return [
            TrainingJob(task, network, shuffled, trial, seed, digest, self.pairs, steps)
            for trial in range(QUICK_SEEDS if quick else SEEDS)
            for task, digest in tasks.items()
            for network in list(NETWORKS)[: 1 if quick else None]
            for shuffled, steps in ((False, self.steps), (True, control))
        ]

    def missing(self, sources: Sources) -> list[str]:
        if catalogue.present("imdb") is not None:
            return []
        return ["Training on reviews: not present; run `wordsway data get imdb` first"]

    def read(self, store: Store, jobs: Sequence[Job]) -> pandas.DataFrame | None:
        import pandas

        records = dict(store.records([job.key for job in jobs if job.key in store]))
        rows = []
        for key in [job.key for job in jobs if job.key in records]:
            record = records[key]
            about = {name: record.facts.get(name) for name in FACTS}
            names = ("task", "network", "shuffled", "trial", "seed")
            settings = {"key": key} | {name: record.content[name] for name in names}
            rows += [settings | point | about for point in record.outputs["checkpoints"]]
        frame = pandas.DataFrame(rows)
        return None if frame.empty else frame.astype({"upper": float, "rewording": float})

    def explain(self, frame: pandas.DataFrame, trials: int) -> str:
        return (
            f"Mean ± 1 sd over {trials} seeds at checkpoints of training; dashed: the same with "
            "shuffled labels. S at the row of the deciding word, shaded up to the certified upper "
            "bound (the transformer has none: its S is a lower bound); the root mean square change "
            "by small random moves of that row; how many of 100 random words in its place move the "
            "vector that the classifier reads less than the deciding word does (50: no more than "
            "a random word); and the test error."
        )

    def drawing(self, data: pandas.DataFrame) -> Chart:
        panels = []
        for task, some in data.groupby("task", sort=False):
            steps = sorted(set(some["step"]))
            for column, (title, y_label) in PANELS.items():
                curves = [
                    _curve(rows, column, steps)
                    for _, rows in some.groupby(["network", "shuffled"], sort=False)
                ]
                ticks = {float(place): f"{step:g}" for place, step in enumerate(steps)}
                where = f"{title} · {task}"
                panels.append(Panel(where, curves, x_label="step", y_label=y_label, ticks=ticks))
        return Chart(panels, columns=len(PANELS), shared_key=True)

    def findings(self, data: pandas.DataFrame) -> list[Finding]:
        found = []
        for (task, network), rows in data.groupby(["task", "network"], sort=False):
            found += self._judge(f"{task}, {network}", rows)
        return [*found, certificates(self.name, data)]

    def _judge(self, where: str, rows: pandas.DataFrame) -> list[Finding]:
        """The claims on one network and task; ratios are paired by seed."""
        ordered = rows.sort_values("step")
        own, control = (ordered[ordered["shuffled"] == one] for one in (False, True))
        after, shuffled = (one.groupby("trial").last() for one in (own, control))
        before = own[own["test_error"] > UNLEARNT].groupby("trial").last()
        learnt = len(before) == len(after) and bool((after["test_error"] <= UNLEARNT).all())
        when = f"at the last checkpoint with test error above {UNLEARNT:g}"
        share = f"{when}, {{}} of that after training"
        early = share.format(f"at least {THERE:g}")

        def judged(
            claim: str, value: Interval | None, measured: str, rule: str, *ends: float
        ) -> Finding:
            text = "not learnt in every trial" if value is None else measured.format(f"{value:.2f}")
            return Finding(self.name, claim, where, text, decide(value, *ends), rule, OWN)

        found = [
            judged(
                f"{name} is present before the task is learnt",
                ratio(before[column], after[column]) if learnt else None,
                share,
                early,
                THERE,
            )
            for name, column in (("S", "lower"), ("mean local sensitivity", "local"))
        ]
        return [
            *found,
            judged(
                "before the task is learnt, the deciding word moves the model no more than a "
                "random word",
                mean_interval(before["percentile"].tolist()) if learnt else None,
                f"percentile {when}: {{}}",
                f"below {NO_MORE:g}",
                -math.inf,
                NO_MORE,
            ),
            judged(
                "the task raises S more than shuffled labels do",
                ratio(after["lower"], shuffled["lower"]),
                "S after training, true ÷ shuffled labels: {}",
                "the ratio is above 1",
                1.0,
            ),
        ]


def _curve(rows: pandas.DataFrame, column: str, steps: Sequence[int]) -> Curve:
    """Means ± 1 sd of a column; those of S with the mean certified upper bound."""
    first = rows.iloc[0]
    points = rows.groupby("step")[[column, "upper"]].agg(["mean", "std"])
    certified: list[float] = []
    if column == "lower" and not first["shuffled"]:
        certified = points["upper", "mean"].tolist()
    return Curve(
        f"{first['network']}{', shuffled labels' if first['shuffled'] else ''}",
        [steps.index(step) for step in points.index],
        points[column, "mean"].tolist(),
        points[column, "std"].fillna(0.0).tolist(),
        [None if math.isnan(end) else end for end in certified],
        list(NETWORKS).index(first["network"]),
        dashed=bool(first["shuffled"]),
    )


def ratio(above: pandas.Series[float], below: pandas.Series[float]) -> Interval | None:
    """The geometric mean over trials of the ratio, with its 95 % interval."""
    found = mean_interval((above / below).dropna().map(math.log).tolist())
    if found is None:
        return None
    value, low, high = (math.exp(one) for one in (found.value, found.low, found.high))
    return Interval(value, low, high, found.points)

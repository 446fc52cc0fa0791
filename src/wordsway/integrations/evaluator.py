"""An evaluator for sentence-transformers' trainer: does the model notice the word that matters?"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from wordsway.auditing.audit import audit
from wordsway.core.errors import needs

needs("models", "sentence_transformers")
from sentence_transformers.sentence_transformer.evaluation import BaseEvaluator  # noqa: E402


class WordChangeEvaluator(BaseEvaluator):
    """Scores of `wordsway.audit` against rewordings per kind of change, and their mean as the
    primary metric; against harmless edits where the data has no rewordings.

    Parameters
    ----------
    data, kinds, texts, seed : as those of `audit`; ``texts`` per kind
    name : prefix of the metrics: ``NAME_mean`` and, per kind, ``NAME_negation`` with its 95 %
        interval ``NAME_negation_low``, ``…_high`` and the number of texts, ``…_texts``

    Pass it to a `SentenceTransformerTrainer` as ``evaluator``; with an ``output_path`` every
    evaluation adds a line to ``NAME.csv`` there.
    """

    def __init__(
        self,
        data: str | Path | Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        texts: int = 20,
        *,
        name: str = "wordsway",
        seed: int = 0,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.data, self.kinds, self.texts, self.seed = data, kinds, texts, seed
        self.name, self.primary_metric = name, "mean"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """The scores of a model, by metric."""
        how: dict[str, Any] = {"texts": self.texts, "draws": 0, "seed": self.seed}
        how["baselines"] = False
        if self.data is not None:
            how["data"] = self.data
        found = audit(model, kinds=self.kinds, **how)
        kinds = [one for one in found.models[0].kinds if found.level in one.levels]
        measured = {one.kind: one.levels[found.level] for one in kinds}
        scores = {kind: level.score for kind, level in measured.items()}
        scores["mean"] = mean(scores.values())
        for kind, level in measured.items():
            scores |= {f"{kind}_{name}": getattr(level, name) for name in ("low", "high", "texts")}
        if output_path is not None:
            _add_line(Path(output_path) / f"{self.name}.csv", scores, epoch, steps)
        metrics: dict[str, float] = self.prefix_name_to_metrics(scores, self.name)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def get_config_dict(self) -> dict[str, Any]:
        """What the model card says about the evaluator."""
        return {"data": str(self.data or "default"), "texts": self.texts, "seed": self.seed}


def _add_line(path: Path, scores: dict[str, float], epoch: int, steps: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(["epoch", "steps", *scores])
        writer.writerow([epoch, steps, *scores.values()])

"""The verb `sweep`: run a user-defined grid, resumable per cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordsway.core.checks import Count, FilePath, Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.laws import LAWS, laws, slope
from wordsway.core.progress import Progress, silent
from wordsway.core.result import Result, versions
from wordsway.engine.forecast import SweepForecast, forecast_unfinished
from wordsway.engine.function import stop_in_worker
from wordsway.engine.run import Machines, Tally, run_jobs, shard_of
from wordsway.engine.store import Store
from wordsway.engine.tables import export, without_facts, writable
from wordsway.studies.functions import function_jobs
from wordsway.studies.pairing import DRAW, Trials, paired_differences, variance_components
from wordsway.studies.spec import Study, load_study
from wordsway.studies.tables import cells_frame, not_converged, setting_columns, texts_of

if TYPE_CHECKING:
    import pandas

#: The fewest lengths n that a slope is fitted to.
LENGTHS = 3
#: The p-value of a line in log n below which S is taken for a curve.
CURVED = 0.05
#: Columns that a table may lack, and JSON always has.
CERTIFIED = ("certified_low", "certified_high")
OF_SLOPES = (*CERTIFIED, "law", *(f"{law}_error" for law in LAWS))
OF_DIFFERENCES = ("low", "high", *CERTIFIED, "error", "error_unpaired")


@dataclass(frozen=True)
class Sweep(Result, brief="folder"):
    """The outcome of a sweep, the paths of its tables, and the table of all stored cells.

    After Ctrl-C it has the cells that were done; check ``complete`` before you use its tables.
    """

    study: Study
    tally: Tally
    folder: Path
    tables: tuple[Path, ...]
    cells: pandas.DataFrame

    @property
    def complete(self) -> bool:
        """Whether every cell of this run is stored: none failed, and it was not interrupted."""
        return self.tally.complete

    @property
    def not_converged(self) -> int:
        """The number of searches that a longer one (``effort``) might improve."""
        return int(not_converged(self.cells).sum())

    def to_dict(self) -> dict[str, Any]:
        paired = self.study.pair_by and not self.cells.empty
        return {
            "study": self.study.name,
            "key": self.study.key,
            "total": self.tally.total,
            "done": self.tally.done,
            "before": self.tally.before,
            "elsewhere": self.tally.elsewhere,
            "failed": self.tally.failures,
            "interrupted": self.tally.interrupted,
            "complete": self.complete,
            "not_converged": self.not_converged,
            "seconds": self.tally.seconds,
            "means": _records(self.means()),
            "slopes": _records(self.slopes(), OF_SLOPES) if self.has_slopes else [],
            "differences": _records(self.differences(), OF_DIFFERENCES) if paired else [],
            "store": str(self.folder / "store"),
            "tables": [str(path) for path in self.tables],
            "versions": versions(),
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per stored cell."""
        return self.cells

    def means(self) -> pandas.DataFrame:
        """A data frame with one row per setting: trials, mean and sd of what was ``measured`` (S,
        or the error after a change where cells learn), the mean certified end of S, and the number
        of searches that did not converge.

        A setting is everything that varies between the cells and is neither a seed, a trial nor an
        outcome: options of maps, radius, effort, how texts are read, …
        """
        import pandas

        if self.cells.empty:
            return pandas.DataFrame(columns=["map", "n", "measured", "trials", "mean"])
        values, settings = self._values()
        trials = values.groupby([*settings, "measured"], dropna=False, sort=False)
        table = trials["value"].agg(["size", "mean", "std"])
        table.columns = pandas.Index(["trials", "mean", "sd"])
        table["upper"] = trials["upper"].mean()
        table["not_converged"] = trials["loose"].sum()
        return table.reset_index()

    def differences(self) -> pandas.DataFrame:
        """Paired differences across ``pair_by``; the columns are those of `paired_differences`."""
        if not self.study.pair_by:
            raise InputError(
                "a sweep with pair_by", "none", 'pass pair_by=["temperature"] or the like'
            )
        values, settings = self._values()
        return paired_differences(values, settings, self.study.pair_by)

    def variance(self) -> pandas.DataFrame:
        """The variance due to text and to weights; columns of `variance_components`."""
        if not self.cells.empty and "weights_trial" not in self.cells:
            raise InputError(
                "a sweep that crosses texts and weights",
                "one draw of weights per text",
                'pass trials={"text": 5, "weights": 4}',
            )
        return variance_components(*self._values())

    @property
    def has_slopes(self) -> bool:
        """Whether there are enough lengths n for a slope."""
        return "n" in self.cells and self.cells["n"].nunique() >= LENGTHS

    def slopes(self) -> pandas.DataFrame:
        """How S falls with n in every setting: the slope of log S on log n, its standard ``error``
        and its 95 % interval (``low`` … ``high`` of the attained values; ``certified_low`` …
        contains the 95 % interval for every S between both ends), ``line_p`` (where it is below
        0.05, no single slope describes these n), the ``law`` that predicts held-out trials best,
        and the error of each law. ``law`` is None if the trials do not decide, if it would be the
        power law and ``line_p`` is below 0.05, or below 10 trials that have every n; these have no
        errors either, and ``floor_error`` needs four n.
        See `wordsway.slope` and `wordsway.laws`.
        """
        import pandas

        if not (self.has_slopes or self.complete):
            got = f"{self.tally.stored:,} of {self.tally.total:,} cells"
            raise InputError("a complete sweep, or three lengths n", got, "run it again to resume")
        if not self.has_slopes:
            expected = f"a sweep over at least {LENGTHS} lengths n"
            raise InputError(expected, "fewer", 'pass grid={"n": [10, 20, 40]}')
        values, settings = self._values()
        by = ["measured", *(name for name in settings if name != "n")]
        rows = []
        for group, cells in values.groupby(by, dropna=False, sort=False):
            cells = cells[cells["value"] > 0]
            if cells["n"].nunique() < LENGTHS:
                continue
            texts = texts_of(cells)
            found = slope(cells["n"], cells["value"], texts=texts)
            row: dict[str, Any] = {"slope": found.value, "error": found.error}
            row |= {"low": found.low, "high": found.high, "line_p": found.line_p}
            row |= dict.fromkeys(CERTIFIED if values["upper"].notna().any() else ())
            if cells["upper"].notna().all():
                sure = slope(cells["n"], cells["value"], cells["upper"], texts=texts)
                row |= {"certified_low": sure.low, "certified_high": sure.high}
            fitted = _law(cells)
            if fitted.get("law") == "power" and found.line_p < CURVED:
                fitted["law"] = None
            rows.append(dict(zip(by, group, strict=True)) | row | {"law": None} | fitted)
        law = pandas.Series([row["law"] for row in rows], dtype=object)  # keeps None
        return pandas.DataFrame(rows).assign(law=law)

    def _values(self) -> tuple[pandas.DataFrame, list[str]]:
        """A value per cell with its settings and its draw, and the names of the settings. Cells are
        in the order of the grid's values; n ascends, and values that the grid lacks come last.
        """
        import pandas

        frame = self.cells
        if frame.empty:
            got = f"0 of {self.tally.total:,} cells"
            raise InputError("at least one cell", got, "run it again to resume")
        error = frame["error"] if "error" in frame else pandas.Series(float("nan"), frame.index)
        learns = error.notna()
        names = learns.map({True: "error", False: "S"})
        settings = setting_columns(frame)
        draw = [name for name in (*DRAW, "sample_seed", "text_id") if name in frame]
        values = frame[[*settings, *draw]].assign(
            measured=frame.get("measured", names).fillna(names),
            value=error.where(learns, frame["lower"]).astype(float),
            upper=frame["upper"].astype(float).mask(learns),
            loose=not_converged(frame),
        )
        places = {cell.key: place for place, cell in enumerate(self.study.cells)}
        place = frame["key"].map(places).fillna(len(places))
        by: list[Any] = []
        for name in ("measured", *settings):
            codes, _ = pandas.factorize(values[name], sort=True, use_na_sentinel=False)
            by += [] if name == "n" else [place.groupby(codes).transform("min")]
            by.append(codes)
        return values.iloc[np.lexsort(by[::-1])], settings


def _law(cells: pandas.DataFrame) -> dict[str, Any]:
    """The best law of one setting, and the errors of all."""
    draw = [name for name in DRAW if name in cells]
    table = cells.pivot_table(index=draw, columns="n", values="value").dropna()
    if table.shape[1] < LENGTHS or table.empty:
        return {}
    found = laws(table.columns.to_numpy(), table.to_numpy())
    return {"law": found.best} | {f"{one.law}_error": one.error for one in found.laws}


def _records(table: pandas.DataFrame, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows for JSON: missing values are None, those of missing columns among ``names``, too."""
    table = table.reindex(columns=list(dict.fromkeys([*table.columns, *names])))
    plain = table.astype(object).where(table.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


@validated
def sweep(
    study: Study | FilePath | Callable[..., Any],
    out: FilePath,
    *,
    grid: Mapping[str, Any] | None = None,
    trials: Count | Mapping[str, Any] = 1,
    seed: Seed = 0,
    pair_by: Sequence[str] = (),
    workers: int | None = None,
    cluster: str | None = None,
    memory: int | None = None,
    retry_failed: bool = False,
    shard: str | None = None,
    merge: Sequence[FilePath] = (),
    progress: Progress = silent,
) -> Sweep:
    """Run the cells of a grid that the store in ``out`` lacks, on this machine or a Dask cluster.

    Parameters
    ----------
    study : the path of a TOML file, a `Study`, or a function of your own that workers can import.
        It gets one value of each parameter of ``grid``, and ``seed`` (of the weights),
        ``text_seed``, ``search_seed`` and ``X`` (the text) if it has such parameters. It returns a
        map, whose S is measured on a Gaussian text of ``n`` rows in ``d`` dimensions, or a number,
        or several by name
    grid, trials, seed : of a function: the values of its parameters, each a value or a list (``n``,
        ``d``, ``positions``, ``radius``, ``effort`` and ``certificate`` also apply to the
        measurement); draws per setting, or ``{"text": 5, "weights": 4}`` for every text with every
        draw of the weights; the seed of all draws
    pair_by : parameters of the grid across which text, weights and search keep their seeds:
        common random numbers, for `Sweep.differences`
    out : folder for the store and the tables (cells.csv and, with pyarrow, cells.parquet); several
        runs may share it
    workers : processes on this machine, one per core by default
    cluster : a Dask scheduler (``tcp://host:port``), or ``local:4`` or ``slurm:64`` to start one
    memory : limit for all workers together, in bytes
    shard : "3/64" runs the third of 64 parts of the grid; runs of all parts may share ``out``
    merge : folders of other runs (``out``), whose cells are taken over first

    It can be killed at any time; the same call resumes it. Ctrl-C returns the cells that are done,
    with ``complete`` False. Results of a function whose source, or
    anything that it uses in its folder, has changed since are computed again.
    """
    stop_in_worker(study)
    planned = _study(study, grid, trials, seed, pair_by)
    machines = Machines(workers, cluster, memory)
    folder = writable(Path(out))
    store = Store(folder / "store")
    for other in merge:
        store.merge(other)
    cells = shard_of(planned.cells, shard)
    tally = run_jobs(cells, store, machines, retry_failed=retry_failed, progress=progress)
    own = [cell.key for cell in planned.cells] if callable(study) else None
    facts = cells_frame(store, own, facts=True)
    tables = export(facts, folder)
    return Sweep(planned, tally, folder, tuple(tables), without_facts(facts))


def _study(
    study: Study | Path | str | Callable[..., Any],
    grid: Mapping[str, Any] | None,
    trials: Trials,
    seed: int,
    pair_by: Sequence[str],
) -> Study:
    """The study itself, of a file, or of a function and its grid."""
    if callable(study):
        if grid is None:
            raise InputError("a grid of the function's parameters", "none", 'pass grid={"n": […]}')
        jobs = function_jobs(study, grid, trials, seed, pair_by)
        return Study(getattr(study, "__name__", "study"), jobs, jobs[0].pair_by)
    if grid is not None or trials != 1 or seed != 0 or pair_by:
        raise InputError(
            "grid, trials, seed and pair_by with a function",
            repr(study),
            "write them into the TOML file",
        )
    return study if isinstance(study, Study) else load_study(study)


def forecast_sweep(
    study: Study | Path | str, out: Path | str, *, workers: int | None = None
) -> SweepForecast:
    """Time and memory of the remaining cells of a sweep on this machine."""
    grid = study if isinstance(study, Study) else load_study(study)
    store = Store(writable(Path(out)) / "store")
    return forecast_unfinished(grid.cells, store, workers)

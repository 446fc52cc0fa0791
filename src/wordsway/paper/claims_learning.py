"""What the paper claims about learning (Figures 4 and 5, Theorems 4 and 5), beside what was
measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordsway.paper.finding import FAILS, HOLDS, Finding

if TYPE_CHECKING:
    import pandas

#: "Near zero", and how far RF may be off the curve by what its certificate allows at most.
NEAR_ZERO = 0.05
#: A share of points below the curve that counts as "nearly all".
NEARLY_ALL = 0.9
UPDATED = {"fine-tune": "fine-tuned", "retrain": "re-trained"}


def learning_findings(frame: pandas.DataFrame) -> list[Finding]:
    """Every claim on every data set that was learned from."""
    found: list[Finding] = []
    for series, rows in frame.groupby(["data", "d", "update"]):
        data, d, update = (str(one) for one in series)
        where = f"{data}, d = {d}, {UPDATED[update]}"
        plain, penalised = rows[rows["loss"] != "penalised"], rows[rows["loss"] == "penalised"]
        found += _random_features(where, plain[plain["map"] == "rf"])
        for n, some in plain[(plain["map"] == "raf") & (plain["loss"] == "direct")].groupby("n"):
            found.append(_reaches(f"{where}, n = {n}", some))
        found += _between(where, plain[plain["loss"] == "align"])
        found += _penalised(where, penalised[penalised["map"] == "raf"])
    found += _floor(frame)
    return found


def _random_features(where: str, rows: pandas.DataFrame) -> list[Finding]:
    """√Err ≥ 2 − γ − allowance on every point, the allowance being the certificate's; and the
    points hug the curve.
    """
    if rows.empty:
        return []
    short = (2 - rows["gamma"]).clip(lower=0) - rows[
        "error"
    ] ** 0.5  # how far below the curve, in the root
    allowed = (2 - rows["gamma"]).clip(lower=0) - rows["bound"] ** 0.5
    holds = bool((short <= allowed + 1e-6).all()) and float(short.median()) < 0.25
    least = rows.sort_values("error").iloc[0]
    measured = (
        f"2 − γ − √Err: median {short.median():.3f}, largest {short.max():.3f}, certificates allow {allowed.median():.2f} (median); "
        f"least Err {least['error']:.3g} at γ = {least['gamma']:.2f}"
    )
    return [
        Finding(
            "4",
            "Theorem 4: RF stays on the curve (2 − γ)²",
            where,
            measured,
            HOLDS if holds else FAILS,
        )
    ]


def _reaches(where: str, rows: pandas.DataFrame) -> Finding:
    median = float(rows["error"].median())
    measured = f"median direct Err {median:.2g}, {100 * float((rows['error'] < NEAR_ZERO).mean()):.0f} % below {NEAR_ZERO}"
    return Finding(
        "4",
        "Theorem 5: RAF learns it, Err near 0",
        where,
        measured,
        HOLDS if median < NEAR_ZERO else FAILS,
    )


def _between(where: str, rows: pandas.DataFrame) -> list[Finding]:
    """How far one word turns the direction that was learned: A = 1 not at all, A = −1 fully."""
    reached = rows.groupby("map")["alignment"].median()
    if not {"rf", "raf", "relu-raf"} <= set(reached.index):
        return []
    holds = reached["rf"] > reached["relu-raf"] > reached["raf"]
    measured = f"median A reached: RF {reached['rf']:.2f}, ReLU-RAF {reached['relu-raf']:.2f}, RAF {reached['raf']:.2f}"
    return [
        Finding("4", "ReLU-RAF lies between RF and RAF", where, measured, HOLDS if holds else FAILS)
    ]


def _penalised(where: str, rows: pandas.DataFrame) -> list[Finding]:
    """With a price on γ, RAF still falls below the curve: the update does it, not what the old
    model already said.
    """
    if rows.empty:
        return []
    below = rows["error"] ** 0.5 < (2 - rows["gamma"]).clip(lower=0) - 1e-6
    medians = rows.groupby("penalty")[["error", "gamma"]].median().sort_index(ascending=False)
    told = "; ".join(
        f"p = {penalty:g}: Err {row['error']:.2g} at γ = {row['gamma']:.2f}"
        for penalty, row in medians.iterrows()
    )
    share = float(below.mean())
    holds = share >= NEARLY_ALL
    measured = f"{100 * share:.0f} % of the points below the curve; medians {told}"
    return [
        Finding(
            "5", "RAF stays below (2 − γ)² when γ costs", where, measured, HOLDS if holds else FAILS
        )
    ]


def _floor(frame: pandas.DataFrame) -> list[Finding]:
    both = frame.dropna(subset=["bound"])
    if both.empty:
        return []
    kept = int((both["error"] >= both["bound"] * (1 - 1e-7) - 1e-7).sum())
    telling = int((both["bound"] > 0).sum())
    measured = f"{kept:,} of {len(both):,} trials; the floor is above 0 in {telling:,} of them"
    return [
        Finding(
            "4, 5",
            "√Err ≥ 2 − γ − S·(‖φ‖/‖v‖)·|y − f|, S certified",
            "all cells",
            measured,
            HOLDS if kept == len(both) else FAILS,
        )
    ]

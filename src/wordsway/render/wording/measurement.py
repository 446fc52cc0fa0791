"""What every medium says of a measured request."""

from __future__ import annotations

from wordsway.experiments.measure import Measurement, Trial
from wordsway.format import format_bytes, format_seconds
from wordsway.render.numbers import digits, number


def mean_line(result: Measurement) -> str:
    """Mean ± sd of what was attained, and what certificates rest on."""
    if result.mean is None:
        return "no trial was finished"
    spread = "" if result.sd is None else f" ± {digits(result.sd, 2)} (sd)"
    kinds = sorted({trial.certificate for trial in result.trials if trial.certificate})
    certificate = f"certificate: {', '.join(kinds)}" if kinds else "no certificate"
    return f"mean attained {number(result.mean)}{spread} · {certificate}"


def cost_line(result: Measurement) -> str:
    note = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    if result.interrupted:
        note += f" · interrupted after {len(result.trials)} of {result.request.trials} trials"
    return note


def source_line(result: Measurement) -> str | None:
    """What embedded the texts, if anything did."""
    if "model" not in result.source:
        return None
    how = f"layer {result.source['layer']}, padding {result.source['padding']}"
    return f"embedded by {result.source['model']}, {how}"


def ratio(trial: Trial) -> str:
    """Certified over attained."""
    if trial.upper is None or not trial.lower:
        return "–"
    return f"{trial.upper / trial.lower:.2f}"

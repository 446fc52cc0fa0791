"""The reference pages, from the code: every public name by its docstring, every command by its
options, every number by the sentence that explains it in terminal, page and JSON. `docs/conf.py`
writes them before each build.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

#: The public names in the order of the page; what is in no group comes last.
GROUPS = {
    "Texts": "Sample Reading Word Token Corpus Text corpus draw Embedder paper_samples TextOptions",
    "Maps": "FeatureMap RF DRF RAF ReluRAF View Activation activation Attention residual "
    "layer_norm rms_norm read_out transformer_block GaussianMatrix TokenMatrix",
    "Sensitivity of maps": "sensitivity Sensitivity WordSensitivity Plan measure Measurement Trial "
    "forecast Forecast Request",
    "Learning": "learn FlipResult FlipRow learning_trials FlipTrials LearningOptions",
    "Sweeps and figures": "sweep Sweep Study SweepForecast reproduce Reproduction Chart",
    "Real models": "words Words WordSway CorpusWords swap Swaps Swap attention AttentionMap "
    "AttentionMaps attract Attracted compare Comparison LayerChange Probe",
    "Audits and pairs of texts": "pairs Pairs Pair audit Audit ModelAudit",
}


def python_page() -> str:
    """Every public name, in groups, each for autodoc to describe."""
    import wordsway as ws

    left = [name for name in ws.__all__ if name != "__version__"]
    parts = []
    for title, names in [*GROUPS.items(), ("Results, errors and the rest", " ".join(left))]:
        chosen = [name for name in names.split() if name in left]
        left = [name for name in left if name not in chosen]
        parts.append(f"## {title}\n")
        for name in chosen:
            parts += ["```{eval-rst}", *_directive(name, getattr(ws, name)), "```\n"]
    return "\n".join(parts)


def _directive(name: str, value: Any) -> list[str]:
    kind = "autofunction" if inspect.isfunction(value) else "autoclass"
    if not inspect.isclass(value) and not inspect.isfunction(value):
        kind = "autodata"
    return [f".. {kind}:: wordsway.{name}"]


def commands_page() -> str:
    """Every command with its options, as `--help` groups them."""
    import typer.main

    from wordsway.cli.commands import app

    return "\n".join(_commands(typer.main.get_command(app), "wordsway"))


def _commands(group: Any, path: str) -> list[str]:
    lines = []
    for name, command in group.commands.items():
        place = f"{path} {name}"
        if hasattr(command, "commands"):
            lines += _commands(command, place)
            continue
        context = type(command).context_class(command, info_name=place)
        help = [part for part in (command.help or "").split("\n\n") if part]
        examples = [part.removeprefix("Example: ") for part in help if part.startswith("Example: ")]
        lines += [f"## {place}\n"]
        lines += [f"{_plain(part)}\n" for part in help if not part.startswith("Example: ")]
        if examples:
            lines += ["```text", *examples, "```\n"]
        lines += ["| group | option | what it does |", "|---|---|---|"]
        lines += [_row(param) for param in command.get_params(context)]
        lines += [""]
    return lines


def _row(param: Any) -> str:
    if param.param_type_name == "argument":
        shown, group = str(param.metavar or param.name).upper(), "argument"
    else:
        both = "/".join([*param.opts, *param.secondary_opts])
        shown, group = f"{both} {param.metavar or ''}".strip(), param.rich_help_panel
    about = _plain(param.help or "")
    if param.required:
        about += " *Required.*"
    elif isinstance(param.default, (int, float, str, Path)) and param.default is not False:
        about += f" Default: `{param.default}`."
    return f"| {group} | `{shown.replace('|', ' or ')}` | {about} |"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def numbers_page() -> str:
    """Every number of the verbs about models, with the sentence that results show for it."""
    from wordsway.auditing.result import EXPLAINED
    from wordsway.probing.tiers import TIERS
    from wordsway.render.views import length, pairs

    parts = {
        "words": {tier.title: tier.sentence for tier in TIERS.values()},
        "pairs": pairs.MEANINGS,
        "audit": EXPLAINED,
        "length": length.MEANINGS,
    }
    lines = []
    for verb, meanings in parts.items():
        lines += [f"### {verb}\n", "| number | meaning |", "|---|---|"]
        lines += [f"| {_plain(name)} | {_plain(text)} |" for name, text in meanings.items()]
        lines += [""]
    return "\n".join(lines)


PAGES = {"python.md": python_page, "commands.md": commands_page, "numbers.md": numbers_page}


def write_reference(folder: Path) -> None:
    """Every page into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        path, text = folder / name, page()
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")

"""How `--help` looks: options in groups, with the kinds of values that a person knows.

Commands only declare their options. Which group an option is shown in is told here, once for all of
them, so that the same option is found in the same place everywhere.
"""

from __future__ import annotations

import inspect
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

#: Groups in the order in which they are shown, and the options that are in them.
PANELS = {
    "What": "map n d k depth data model text-column label-column encoding padding layer target "
    "tier word index positions quick kind figure query task labels with texts",
    "How": "radius trials train update loss penalty reach scaling at draws passes cut head special "
    "top among swaps attract flip plausible twin colour temperature words tokens limit real-words "
    "certificate effort seed fail-under scores heads mask pe residual norm read-out",
    "Machine": "device dtype memory workers cluster retry-failed trust-remote-code host port open "
    "from",
    "Result": "json html out deltas forecast",
}
_PANEL = {name: panel for panel, names in PANELS.items() for name in names.split()}
#: Commands in the order in which they are shown.
COMMANDS = {
    "Random maps": "measure learn sweep reproduce",
    "Real models": "words swap attention attract compare",
    "Does it notice the word that matters?": "pairs audit",
    "Pages": "serve playground",
    "Corpora and models": "data",
}
_COMMAND = {name: panel for panel, names in COMMANDS.items() for name in names.split()}
#: Whatever is in no group, and what every command has.
REST, COMMON = "How", "Common"
_KINDS = (("int", "NUMBER"), ("float", "NUMBER"), ("Path", "PATH"), ("path", "PATH"))


def panel_of(flag: str) -> str:
    """The group of an option.

    >>> panel_of("--json"), panel_of("--help")
    ('Result', 'Common')
    """
    name = flag.lstrip("-")
    if name in ("help", "debug", "version", "install-completion", "show-completion"):
        return COMMON
    return _PANEL.get(name, REST)


def kind_of(param: Any) -> str:
    """What stands behind an option, as a person would say it; nothing behind a flag."""
    if getattr(param, "is_flag", False) or getattr(param, "count", False):
        return ""
    told = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    name = str(getattr(told, "__name__", "") or "") + str(told) + str(getattr(param, "type", ""))
    return next((kind for part, kind in _KINDS if part in name), "TEXT")


def dressed(params: list[Any]) -> list[Any]:
    """The parameters of a command, each in its group, groups in order."""
    for param in params:
        if param.param_type_name != "option":
            param.display_type_rich = lambda ctx: ""  # its name says it
            continue
        if param.metavar is None:
            param.metavar = kind_of(param)
        param.rich_help_panel = panel_of(max(param.opts, key=len))
    order = [*PANELS, COMMON]
    return sorted(
        params, key=lambda p: order.index(p.rich_help_panel) if p.param_type_name == "option" else 0
    )


class Command(TyperCommand):
    """A command whose help is in groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        return dressed(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose own options are in groups, too."""

    def get_params(self, ctx: Any) -> list[Any]:
        return dressed(super().get_params(ctx))


def _order(name: str | None) -> int:
    return [*_COMMAND, name].index(name)


def unwrapped(text: str) -> str:
    """Paragraphs as lines: the terminal breaks them where it is full.

    >>> unwrapped("One\\ntwo.\\n\\nThree.")
    'One two.\\n\\nThree.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def dress(app: typer.Typer) -> None:
    """Every command of an application, and of those inside it, that has no class of its own."""
    app.registered_commands.sort(key=lambda command: _order(command.name))
    for command in app.registered_commands:
        if command.cls in (None, TyperCommand):
            command.cls = Command
        command.rich_help_panel = _COMMAND.get(str(command.name), "Commands")
        told = inspect.getdoc(command.callback) if command.help is None else command.help
        command.help = unwrapped(told or "")
    for group in app.registered_groups:
        group.rich_help_panel = _COMMAND.get(str(group.name), "Commands")
        if group.typer_instance is not None:
            dress(group.typer_instance)

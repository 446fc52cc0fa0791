"""How `--help` looks: options in groups, with the kinds of values that a person knows.

Commands only declare their options. The group of an option is set here, once for all of them, so
that the same option is found in the same place everywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

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
    "Real models": "words corpus swap attention attract compare",
    "Does it react to the word that matters?": "pairs audit",
    "Pages": "serve playground",
    "Corpora and models": "data",
}
COMMAND_PANELS = {name: panel for panel, names in COMMANDS.items() for name in names.split()}
#: Whatever is in no group, and what every command has.
REST, COMMON = "How", "Common"
_KINDS = {int: "NUMBER", float: "NUMBER", Path: "PATH"}


def panel_of(flag: str) -> str:
    """The group of an option.

    >>> panel_of("--json"), panel_of("--help")
    ('Result', 'Common')
    """
    name = flag.lstrip("-")
    if name in ("help", "debug", "version", "install-completion", "show-completion"):
        return COMMON
    return _PANEL.get(name, REST)


def kind_of(annotation: Any) -> str:
    """What stands behind an option, as a person would say it.

    >>> kind_of(list[int] | None), kind_of(Path), kind_of(str)
    ('NUMBER', 'PATH', 'TEXT')
    """
    parts = get_args(annotation)
    return kind_of(parts[0]) if parts else _KINDS.get(annotation, "TEXT")


def grouped(params: list[Any]) -> list[Any]:
    """The parameters of a command: arguments, then options in the order of their groups."""
    order = {name: place for place, name in enumerate([*PANELS, COMMON])}
    arguments = [param for param in params if param.param_type_name == "argument"]
    options = [param for param in params if param.param_type_name == "option"]
    for param in options:
        param.rich_help_panel = panel_of(max(param.opts, key=len))
        if param.is_flag:
            param.metavar = ""
    return arguments + sorted(options, key=lambda param: order[param.rich_help_panel])


class Command(TyperCommand):
    """A command whose options are in groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        return grouped(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose own options are in groups, too."""

    def get_params(self, ctx: Any) -> list[Any]:
        return grouped(super().get_params(ctx))


def unwrapped(text: str) -> str:
    """Paragraphs as lines: the terminal breaks them where it is full.

    >>> unwrapped("One\\ntwo.\\n\\nThree.")
    'One two.\\n\\nThree.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def add(
    app: typer.Typer,
    name: str,
    function: Callable[..., None],
    *,
    cls: type[Command] = Command,
) -> None:
    """Make a function a command: its docstring is the help."""
    function.__annotations__ = get_type_hints(function, include_extras=True)
    for annotation in function.__annotations__.values():
        for part in getattr(annotation, "__metadata__", ()):
            if isinstance(part, OptionInfo) and part.metavar is None:
                part.metavar = kind_of(annotation.__origin__)
    panel = COMMAND_PANELS.get(name)
    about = unwrapped(inspect.getdoc(function) or "")
    app.command(name, cls=cls, help=about, rich_help_panel=panel)(function)

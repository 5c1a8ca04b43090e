"""What several commands may be asked, and how they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from halfmask.cli import _rooms as rooms
from halfmask.cli._console import Stages, compilation_announced, console, say_json
from halfmask.cli._option_groups import argument, flag, option

if TYPE_CHECKING:
    from rich.table import Table


REPORT = "report.html"

OPEN = flag("--open: Open the report of the release in a browser.")


def open_report(release: str) -> None:
    """Open the report of a release, or say that there is none or no browser."""
    import webbrowser  # noqa: PLC0415 - only this needs it

    page = Path(release).absolute() / REPORT
    if not page.is_file():
        console(stderr=True).print("Warning: this release has no report to open.")
    elif not webbrowser.open(page.as_uri()):
        console(stderr=True).print("Warning: no browser was found to open the report in.")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Where batches are worked on."""

    heading: ClassVar = "Where it runs"
    engine: str | None = option(
        "--engine ADDRESS: Where to run: local (the default), dask://HOST:PORT, "
        "dask+tls://HOST:PORT or spark://HOST:PORT. Workers read and write folders of Parquet "
        "that all of them see. spark://local[2] starts Spark on this machine."
    )

    def connected(self) -> AbstractContextManager[rooms.engines.Engine | None]:
        """Connect to the engine, and disconnect when the block ends."""
        if self.engine is None:
            return nullcontext()
        return rooms.engines.connect(self.engine)


#: The formats of `halfmask.data.Format`, here again: importing that room costs half a second.
FileFormat: TypeAlias = Literal["csv", "tsv", "parquet", "arrow", "arrows", "jsonl"]

TABLE = argument(
    "TABLE: The table of people: a file (CSV, Parquet, Arrow, JSON lines, Excel, SPSS, "
    "Stata, SAS, SQLite, DuckDB), a folder of files, postgresql://HOST/DATABASE?table=NAME, "
    "or - for standard input."
)
OVERWRITE = flag("--overwrite: Replace OUT if it exists.")
DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug",
        # main looks for it itself: it must work when the words can't be parsed, too.
        expose_value=False,
        help="Show the traceback of a failure. It may hold values of the table.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Whom a command answers."""

    heading: ClassVar = "Output"
    as_json: bool = flag("--json: Write one JSON object to standard output, for programs.")
    debug: DebugOption = False

    def say(
        self,
        facts: Mapping[str, object],
        *told: str | Table | Callable[[], None],
        stderr: bool = False,
    ) -> int:
        """Say what came of a command, and return that it is done.

        Programs read JSON, people sentences and tables, or what functions show in addition.
        """
        if self.as_json:
            say_json({"ok": True, **facts})
            return 0
        for each in told:
            if callable(each):
                each()
            else:
                console(stderr=stderr).print(each, soft_wrap=isinstance(each, str))
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SayingOptions(AnswerOptions):
    """Whom a command answers, and how much it says."""

    verbose: bool = flag("--verbose -v: Show more details.")

    @contextmanager
    def stages(self) -> Iterator[Stages]:
        """Say what goes on while long work runs, compilation included."""
        err = console(stderr=True)
        with compilation_announced(err), Stages(err, verbose=self.verbose) as stages:
            yield stages


class HeadedCommand(TyperCommand):
    """A command whose help has its own options first, and those of groups under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 # typer's own click
        """Write the arguments and options of the help."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None:
                is_option = each.param_type_name == "option"
                heading = getattr(each, "rich_help_panel", None) or "Options"
                sections.setdefault(heading if is_option else "Arguments", []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class HeadedGroup(TyperGroup):
    """A command of commands whose help has the whole first sentence of each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 # as above
        """Write the commands of the help."""
        del ctx  # all of its commands are shown
        told = [(it, each.get_short_help_str(1000)) for it, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(told)


class CommandGroup(typer.Typer):
    """A command of commands whose help has headings."""

    def command(self, name: str | None = None, **more: Any) -> Callable[..., Any]:  # noqa: ANN401 # typer's own
        """Return what makes a command of a function."""
        return super().command(name, **{"cls": HeadedCommand, **more})


def command_group(name: str, about: str, *, kind: type[TyperGroup] = HeadedGroup) -> CommandGroup:
    """Return a command of commands, which shows its help if none of them is named."""
    group = CommandGroup(
        name=name,
        help=about,
        cls=kind,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    group.callback(invoke_without_command=True)(show_help)
    return group


def show_help(context: typer.Context) -> None:
    """Show the help of a command of commands, if none of them was named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(2)

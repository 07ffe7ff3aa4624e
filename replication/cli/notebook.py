"""``python -m replication notebook``: execute notebooks of the book with checked parameters."""

from __future__ import annotations

from typing import Annotated

import typer


def pair(names: list[str], values: list[str]) -> dict[str, str]:
    """Names given with ``-p`` and the values after them; ``-p name=value`` carries its own."""
    waiting = iter(values)
    pairs = {}
    for name in names:
        key, separator, value = name.partition("=")
        if not separator and (value := next(waiting, "")) == "":
            raise typer.BadParameter(f"-p {key} has no value")
        pairs[key] = value
    if unused := list(waiting):
        raise typer.BadParameter(f"unexpected: {' '.join(unused)} (one notebook at a time)")
    return pairs


def register(app: typer.Typer) -> None:
    """Add the command to the main application."""

    @app.command("notebook")
    def notebook(
        # The values of -p land here too: typer has no repeatable option with two values.
        words: Annotated[
            list[str] | None,
            typer.Argument(metavar="[NAME]", help="Name of the chapter, such as boundaries."),
        ] = None,
        parameter: Annotated[
            list[str] | None,
            typer.Option(
                "--parameter",
                "-p",
                metavar="NAME VALUE",
                help='Override one parameter: -p p_grid "[1, 2, 5]". Can be repeated.',
            ),
        ] = None,
        every: Annotated[bool, typer.Option("--all", help="Execute every notebook.")] = False,
        profile: Annotated[str, typer.Option(help="published or quick.")] = "published",
        force: Annotated[bool, typer.Option("--force", help="Execute unchanged ones too.")] = False,
        show: Annotated[bool, typer.Option("--show", help="Only list the parameters.")] = False,
    ) -> None:
        """Execute one notebook, or all of them, into book/notebooks/."""
        from replication import notebooks

        words = words or []
        if every == bool(words):
            raise typer.BadParameter("give one notebook, or --all")
        try:
            root = notebooks.project_root()
            if every:
                if parameter:
                    raise typer.BadParameter("-p needs one notebook, not --all")
                notebooks.execute_all(root=root, profile=profile, force=force, report=typer.echo)
                return
            source = notebooks.find(words[0], root)
            if show:
                for key, value in notebooks.defaults(source).items():
                    typer.echo(f"{key} = {value!r}")
                return
            given = pair(parameter or [], words[1:])
            notebooks.execute(
                source,
                root=root,
                profile=profile,
                parameters={key: notebooks.parse_value(text) for key, text in given.items()},
                force=force,
                report=typer.echo,
            )
        except notebooks.NotebookError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from None

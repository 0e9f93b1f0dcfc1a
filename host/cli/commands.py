"""The commands of the command line, and their exit statuses."""

from __future__ import annotations

import errno
import os
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

from extremum.hdl.config import MAX_LANES
from extremum.host import cache
from extremum.host.cli import (
    core_options,
    doctor,
    fpga_commands,
    onnx_command,
    printing,
    problems,
    progress_bar,
    shared_options,
    tensor_files,
    verilog_command,
)
from extremum.host.cli.exit import Exit
from extremum.host.cli.main import COMMANDS
from extremum.host.cli.option_types import FILE
from extremum.host.comparison import compute
from extremum.host.errors import (
    DeviceError,
    SimulationError,
    SynthesisError,
    ToolError,
    WaveformError,
)
from extremum.host.progress import Progress
from extremum.host.tools import BACKEND_TOOLS, require

__all__ = ["commands", "main"]

DEBUG = "EXTREMUM_DEBUG"
"""Environment variable that lets an internal error show its traceback."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

DEMO_LANES = 4
"""Lanes of the demo's core."""

PICTURES = (".png", ".svg", ".pdf")


def main(arguments: Sequence[str]) -> int:
    """Run one command line.

    Parameters
    ----------
    arguments
        What follows the program's name.

    Returns
    -------
    int
        The exit status, one of `Exit`. If something prevents a result, one line on stderr says so.

    Raises
    ------
    BrokenPipeError
        Nobody reads the output any more.
    """
    line = shlex.join(("extremum", *arguments))
    try:
        status = commands.main(list(arguments), "extremum", standalone_mode=False, obj=line)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", Exit.INTERRUPTED)
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        hint = f" (see {where.command_path} --help)" if where else ""
        return _fail(error.format_message() + hint, Exit.USAGE)
    except ToolError as error:
        return _fail(str(error), Exit.TOOL)
    except WaveformError as error:
        return _fail(str(error), Exit.USAGE)
    except (SimulationError, SynthesisError, DeviceError) as error:
        return _fail(str(error), Exit.SIMULATION)
    except BrokenPipeError:  # the reader of the output has gone: `main.main` ends quietly
        raise
    except SystemExit as ended:
        # Click ends itself for one reason, and with status 1, which means a mismatch here.
        if ended.code == 1:
            raise BrokenPipeError from None
        raise
    except MemoryError as error:
        return _fail(str(error) or "out of memory", Exit.USAGE)
    except OSError as error:
        # Who writes a file names it; what names none was written to stdout.
        is_stdout = error.filename is None and error.errno in NO_SPACE
        told = f"stdout cannot be written: {error.strerror}" if is_stdout else str(error)
        return _fail(told, Exit.USAGE)
    except Exception as error:  # a fault of this program, which must not pass for a mismatch
        if DEBUG in os.environ:
            raise
        told = f"internal error: {type(error).__name__}: {error} ({DEBUG}=1 shows where)"
        return _fail(told, Exit.INTERNAL)
    return int(status or Exit.AGREEMENT)


def _fail(message: str, status: Exit) -> int:
    """Say what is wrong, if there is somewhere to say it; return the status."""
    try:
        click.echo(f"extremum: {printing.printable(' '.join(message.split()))}", err=True)
    except BrokenPipeError:
        raise
    except OSError:  # a full disk: the status tells what happened
        pass
    return int(status)


PLUGINS = "extremum.commands"
"""Group of entry points that are commands too: each names an object of Click."""


class _Group(click.Group):
    """The commands of this file, and those that installed packages add as entry points.

    So what builds on the host, as the benches do, can have a command without the host knowing it.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that a line names, with its name and what follows.

        Raises
        ------
        click.UsageError
            An option that takes one value is given several: Click would ignore all but the last.
        """
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:  # which completes lines for shells
            _refuse_repetition(command, click.Context(command, ctx, name), rest)
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *sorted(entry_points(group=PLUGINS).names)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if (found := super().get_command(ctx, cmd_name)) is not None:
            found.short_help = COMMANDS.get(cmd_name, found.short_help)
            return found
        for point in entry_points(group=PLUGINS, name=cmd_name):
            return point.load()
        return None


def _refuse_repetition(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Refuse an option that is given several times and takes but one value."""
    try:
        given = command.make_parser(ctx).parse_args(list(args))[2]
    except click.UsageError:  # told when the line is parsed in earnest
        return
    for option, times in Counter(given).items():
        takes_one = isinstance(option, click.Option) and not (option.is_flag or option.multiple)
        if takes_one and times > 1:
            raise click.UsageError(f"{option.opts[0]} is given {times} times", ctx)


@click.group(
    cls=_Group, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="extremum", message="%(prog)s %(version)s")
def commands() -> None:
    """Argmin, argmax and max pooling with DirectML's exact semantics, in simulated gateware.

    Exit status: 0 agreement, 1 a mismatch, 2 bad usage or input, 4 a tool or the cache that cannot
    be used, 5 a simulator or an FPGA tool that failed, or a core that does not fit, 70 an internal
    error, 130 interrupted, 141 nobody reads the output.
    """


@commands.command()
@shared_options.operator_options
@shared_options.json_option
@click.pass_obj
def run(line: str, operator: str, compare: bool, as_json: bool, **options: Any) -> int:
    """Compute OPERATOR on the array of a .npy file, and check it bit for bit.

    OPERATOR is argmin, argmax, reduce-min, reduce-max or max-pool. The element type is the file's.
    Lists are written 1,2; a single number stands for every spatial dimension.
    """
    problems.refuse_misfits(operator, options)
    if options["input"] is None:
        raise click.UsageError("run needs --input, the .npy file to work on")
    tensor_files.refuse_unwritable(options)
    x = tensor_files.load(options["input"])
    problem = problems.problem_of(operator, options, x.shape, x.dtype)
    settings = problems.accelerator_settings(problem, options)
    require(*BACKEND_TOOLS[settings["backend"]])
    from extremum.host.accelerator import Accelerator  # noqa: PLC0415 (needs the extra sim)

    started = time.monotonic()
    with progress_bar.progress() as progress, Accelerator(**settings, progress=progress) as device:
        result = compute(problem, x, device, compare=compare)
    seconds = time.monotonic() - started
    written = [] if result.difference else tensor_files.save(result.outputs, options)
    shown = printing.RunShown(operator, problem, settings)
    click.echo(
        printing.run_json(shown, result, seconds, written, line)
        if as_json
        else printing.run_text(shown, result, seconds, written, line)
    )
    return Exit.MISMATCH if result.difference else Exit.AGREEMENT


@commands.command()
@shared_options.operator_options
@shared_options.plan_options
@core_options.base_options
@shared_options.json_option
def plan(
    operator: str, registers: bool, dataflow: str | None, as_json: bool, **options: Any
) -> int:
    """Show the jobs of OPERATOR and their predicted cycles; nothing is simulated.

    OPERATOR is argmin, argmax, reduce-min, reduce-max or max-pool. Takes the options of
    `run`, so that one line serves both: those about running, comparing and writing are checked,
    and do nothing here. Instead of an input, --sizes and --type will do. The core is that of
    --preset or --config, if one of them is given, whose parameters then stand in the place of the
    defaults below; the other options change it.
    """
    problems.refuse_misfits(operator, options)
    if options["backend"] == "model":
        raise click.UsageError("--backend model has no cycles to plan")
    sizes, data_type = problems.planned_tensor(options)
    problem = problems.problem_of(operator, options, sizes, data_type)
    config = problems.core_for(problem, options)
    settings = problems.accelerator_settings(problem, options) | {"lanes": config.lanes}
    given: dict[str, Any] = {}
    if dataflow is not None:
        given = problems.open_parameters(options)
        tensor_files.refuse_other_suffix("dataflow", dataflow, ".toml")
        tensor_files.refuse_unwritable({"input": options["input"], "dataflow": dataflow})
    require(*BACKEND_TOOLS["model"])
    from extremum.host.plan import dataflow_core  # noqa: PLC0415 (needs the extra sim)
    from extremum.host.plan import plan as make_plan  # noqa: PLC0415

    with progress_bar.progress() as tell:
        tell(Progress("planning"))
        with tensor_files.bad_input():
            if dataflow is not None:
                config = dataflow_core(problem, **given)
            planned = make_plan(problem, config)
            planned.check_fixed()
    shown = printing.RunShown(operator, problem, settings)
    if dataflow is not None:
        core_options.save(config, dataflow, shown.text)
    written = [dataflow] if dataflow is not None else []
    with tensor_files.bad_input():
        if as_json:
            click.echo(printing.plan_json(shown, planned, registers=registers, written=written))
        else:
            printing.print_plan(shown, planned, registers=registers, written=written)
    return Exit.AGREEMENT


@commands.command()
@click.option(
    "--output",
    type=FILE,
    default="demo.png",
    show_default=True,
    help="The picture to write.",
)
@click.option(
    "--backend",
    type=click.Choice(list(BACKEND_TOOLS)),
    default=doctor.DEFAULT_BACKEND,
    show_default=True,
    help="What computes the results: a simulator, or the golden model without hardware.",
)
@click.option(
    "--lanes",
    type=click.IntRange(1, MAX_LANES),
    show_default=str(DEMO_LANES),
    help="Elements per beat.",
)
@shared_options.bus_option
@shared_options.json_option
@click.pass_obj
def demo(line: str, output: str, as_json: bool, **options: Any) -> int:
    """Pool a photograph and find its extremes in simulated gateware, check, and draw."""
    tensor_files.refuse_unwritable({"output": output})
    if Path(output).suffix.lower() not in PICTURES:
        raise click.UsageError(f"--output must end in {', '.join(PICTURES)}, not {output}")
    backend = options["backend"]
    if backend == "model" and options["bus"] is not None:
        raise click.UsageError("--bus does not apply to --backend model")
    if backend == "model" and options["lanes"] is not None:
        raise click.UsageError("--lanes does not apply to --backend model")
    options["bus"] = options["bus"] or "none"
    options["lanes"] = options["lanes"] or (1 if backend == "model" else DEMO_LANES)
    require(*BACKEND_TOOLS[backend], "scikit-image", "matplotlib")
    from extremum.host.cli.demo import Demo  # noqa: PLC0415 (needs the extra demo)

    with progress_bar.progress() as progress:
        shown = Demo.run(**options, progress=progress)
    # A picture of wrong results would be taken for right ones.
    picture = output if shown.agreement else None
    if picture:
        shown.draw(picture)
    reproduce = None if shown.agreement else line
    if as_json:
        files = {"picture": picture, "reproduce": reproduce}
        click.echo(printing.dumps(shown.as_dict() | files))
    else:
        shown.print_table()
        click.echo(f"\npicture: {picture}" if picture else f"reproduce: {reproduce}")
    return Exit.AGREEMENT if shown.agreement else Exit.MISMATCH


@commands.command("doctor")
@shared_options.json_option
def doctor_command(as_json: bool) -> int:
    """List every tool that can be used: found, needed, and the command that installs it."""
    text, ready = doctor.report(as_json=as_json)
    click.echo(text)
    return Exit.AGREEMENT if ready else Exit.TOOL


@commands.command("cache")
@click.option("--clear", is_flag=True, help="Remove what no other process is building.")
@shared_options.json_option
def cache_command(clear: bool, as_json: bool) -> int:
    """Show the simulations and FPGA measurements that are kept; or remove them."""
    removed, kept = cache.clear() if clear else ([], cache.entries())
    if as_json:
        click.echo(printing.cache_json(str(cache.directory()), removed, kept))
    else:
        printing.print_cache(str(cache.directory()), removed, kept)
    if problem := cache.problem():
        click.echo(f"extremum: new cores cannot be kept: {problem}", err=True)
    return Exit.AGREEMENT


commands.add_command(verilog_command.verilog)
commands.add_command(fpga_commands.fpga)
commands.add_command(onnx_command.onnx)

"""The command ``extremum onnx``: a network whose layers run on the gateware."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from extremum.host.cli import onnx_files, onnx_inputs, onnx_printing, progress_bar, shared_options
from extremum.host.cli.option_types import FILE, Clock
from extremum.host.cli.parameter_options import given_parameters, parameter_options
from extremum.host.cli.tensor_files import bad_input
from extremum.host.fpga.presets import MEASURED_MHZ
from extremum.host.tools import BACKEND_TOOLS, require

if TYPE_CHECKING:
    from extremum.hdl.config import CoreConfig
    from extremum.onnx import Layer, Network, Outputs
    from extremum.onnx.page import FeatureMap

__all__ = ["onnx"]

DEFAULTS: dict[str, Any] = {"lanes": 4, "pipelining": "fast"}
"""Parameters of the core that are not the network's."""


@click.command()
@click.argument("model", type=FILE, metavar="MODEL")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="The array of an input; the name may be left out if there is one input.",
)
@click.option(
    "--sizes",
    multiple=True,
    metavar="NAME=SIZES",
    help="Sizes of an input that the model leaves open, for --random and --plan: x=1,3,224,224.",
)
@click.option("--random", "seed", type=click.IntRange(0), help="Draw the inputs from this seed.")
@click.option(
    "--backend",
    type=click.Choice(list(BACKEND_TOOLS)),
    default="native",
    show_default=True,
    help="What computes the layers: a simulator, or the golden model without hardware.",
)
@shared_options.bus_option
@parameter_options(DEFAULTS, "; else the network's")
@click.option(
    "--clock",
    type=Clock(MEASURED_MHZ),
    default="100",
    show_default=True,
    metavar="MHZ",
    help="Clock of the core, from which clocks become time: in MHz, or the one measured of a preset"
    f" on the ECP5: {', '.join(MEASURED_MHZ)}.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="the processors",
    help="Processes that share the layers, and the jobs of a layer.",
)
@click.option("--scheduler", help="Use the workers of this Dask scheduler: tcp://HOST:PORT.")
@click.option("--plan", "plan_only", is_flag=True, help="Predict the clocks; run nothing.")
@click.option("--strict", is_flag=True, help="Refuse a network with a node that is not taken.")
@click.option(
    "--compare/--no-compare",
    default=True,
    help="Compare each layer, and the outputs, with ONNX Runtime; by default they are.",
)
@click.option("--output", type=FILE, help="Folder to write the outputs to, as .npy.")
@click.option("--report", type=FILE, help="HTML page to write about the network.")
@shared_options.json_option
def onnx(
    model: str,
    inputs: Sequence[str],
    sizes: Sequence[str],
    seed: int | None,
    output: str | None,
    *,
    report: str | None,
    workers: int,
    scheduler: str | None,
    plan_only: bool,
    strict: bool,
    compare: bool,
    clock: float,
    as_json: bool,
    **options: Any,
) -> int:
    """Run the network of the file MODEL with its poolings and reductions on a core.

    These are max poolings, argmax, argmin, maxima and minima. The rest runs in ONNX Runtime. A
    node that looks like one of ours and is outside the contract is left to ONNX Runtime, with
    the reason in the table.
    """
    _require(options, scheduler, report)
    from extremum.onnx import NetworkError  # noqa: PLC0415 (needs the extra onnx)

    shapes = {
        name: onnx_inputs.given_sizes(name, text)
        for name, text in onnx_inputs.named("--sizes", sizes).items()
    }
    maps = _FirstMap()
    try:
        network, given, paths = _read(model, inputs, shapes, output, report)
        shown = onnx_printing.planned(model, network, _core(network, options), clock)
        if plan_only:
            if strict:
                onnx_printing.refuse_left(shown)
        else:
            given |= onnx_inputs.drawn(network, given, seed)
            team: dict[str, Any] = {
                "backend": options["backend"],
                "bus": options["bus"] or "none",
                "workers": workers,
                "scheduler": scheduler,
            }
            shown, outputs = _run(
                shown, network, given, team,
                strict=strict, compare=compare, watch=maps if report is not None else None,
            )  # fmt: skip
            if shown.passed and output is not None:
                shown.files.extend(onnx_files.save(paths, outputs))
        if report is not None:
            shown.files.append(onnx_files.write_page(report, _page(shown, network, maps)))
    except NetworkError as error:
        raise click.ClickException(f"{model}: {error}") from error
    click.echo(onnx_printing.as_json(shown)) if as_json else onnx_printing.print_table(shown)
    return 0 if shown.passed else 1


def _require(options: Mapping[str, Any], scheduler: str | None, report: str | None) -> None:
    """Refuse options that contradict each other, and those whose packages are missing."""
    if options["backend"] == "model" and options["bus"] is not None:
        raise click.UsageError("--bus does not apply to --backend model")
    require("onnx", "onnxruntime", *BACKEND_TOOLS[options["backend"]])
    if scheduler is not None:
        require("distributed")
        _check_address(scheduler)
    if report is not None:
        require("jinja2", "matplotlib")


def _read(
    model: str,
    inputs: Sequence[str],
    shapes: Mapping[str, Sequence[int]],
    output: str | None,
    report: str | None,
) -> tuple[Network, dict[str, np.ndarray], list[Path]]:
    """Read a model and the arrays of files, and refuse to write what is read.

    Returns
    -------
    (Network, dict, list of Path)
        The network with the sizes that are known; the arrays of its inputs, by name; the files of
        its outputs.
    """
    source = _source(model)
    network = _load(model, source, {})
    read = onnx_inputs.files(network, inputs)
    paths = onnx_files.output_paths(output, network)
    held = {str(path): "weights of the model" for path in network.files}
    inputs_read = {path: f"the input {name}" for name, path in read.items()}
    onnx_files.refuse_overwriting({model: "the model"} | held | inputs_read, report, paths)
    given = onnx_inputs.arrays(network, read)
    if twice := [name for name in shapes if name in given]:
        raise click.UsageError(f"--sizes gives {twice[0]}, and so does --input")
    of_arrays = {name: x.shape for name, x in given.items()}
    return _load(model, source, {**shapes, **of_arrays}), given, paths


def _run(
    shown: onnx_printing.NetworkShown,
    network: Network,
    given: Mapping[str, np.ndarray],
    team: Mapping[str, Any],
    *,
    strict: bool,
    compare: bool,
    watch: _FirstMap | None,
) -> tuple[onnx_printing.NetworkShown, Outputs]:
    """Run a network of which a plan is shown; return what is shown of the run, and its outputs."""
    from extremum.host.team import Team  # noqa: PLC0415 (needs the extra sim)
    from extremum.onnx.execution import run_network  # noqa: PLC0415 (needs the extra onnx)

    started = time.monotonic()
    with (
        progress_bar.progress() as progress,
        Team(shown.config, **team, progress=progress) as device,
    ):
        outputs = run_network(
            network, given, accelerator=device, strict=strict, compare=compare, watch=watch
        )
    seconds = time.monotonic() - started
    shown = replace(shown, compared=compare)
    return onnx_printing.ran(shown, outputs, team["backend"], seconds), outputs


class _FirstMap:
    """Keeps what the first pooling of planes selects."""

    def __init__(self) -> None:
        self.found: FeatureMap | None = None

    def __call__(self, name: str, layer: Layer, x: np.ndarray) -> None:
        """Look at a layer that was carried out."""
        if self.found is None:
            from extremum.onnx.page import feature_map  # noqa: PLC0415 (needs the extra report)

            self.found = feature_map(name, layer, x)


def _page(shown: onnx_printing.NetworkShown, network: Network, maps: _FirstMap) -> str:
    """Return the page about a network."""
    from extremum.onnx.page import page  # noqa: PLC0415 (needs the extra report)

    return page(network, shown.rows, onnx_printing.page_facts(shown), maps.found)


def _source(model: str) -> str | bytes:
    """Return the name of a model's file, or its content if it is a pipe, which is read but once."""
    try:
        mode = os.stat(model).st_mode
    except OSError:  # who reads it says why
        return model
    if stat.S_ISCHR(mode):  # it may never end
        raise click.ClickException(f"{model} is a device: give the file of a model")
    return Path(model).read_bytes() if stat.S_ISFIFO(mode) else model


def _load(model: str, source: str | bytes, sizes: Mapping[str, Sequence[int]]) -> Network:
    """Read the model of a file, of which this is the name or the content."""
    from extremum.onnx import load as load_network  # noqa: PLC0415 (needs the extra onnx)

    try:
        return load_network(source, sizes)
    except OSError as error:
        raise click.ClickException(f"cannot read {model}: {error.strerror or error}") from error


def _check_address(scheduler: str) -> None:
    """Refuse what cannot be an address of a scheduler, also if little work would not need it."""
    from distributed.comm.addressing import get_address_host  # noqa: PLC0415 (an extra of its own)

    try:
        get_address_host(scheduler)
    except ValueError as error:
        raise click.UsageError(f"--scheduler {scheduler!r} is no address: {error}") from error


def _core(network: Network, options: Mapping[str, Any]) -> CoreConfig:
    """Return the core for the layers that are known before a run."""
    from extremum.onnx import core_for  # noqa: PLC0415 (needs the extra onnx)

    with bad_input():
        return core_for(network.candidates, **(DEFAULTS | given_parameters(options)))

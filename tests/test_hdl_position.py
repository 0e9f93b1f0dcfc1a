"""The position generator, against sums of coordinate times weight."""

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from gateware import pack, watch
from stimulus import Job, stimulus

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.hdl.position import PositionGenerator, clocks_ahead, latency
from extremum.hdl.register_table import constant_registers
from extremum.hdl.timing import timing_parameters
from extremum.model import DataType

TAP_BITS = {
    (3, 2, 5): {"width": 3, "height": 1, "depth": 2},
    (2, 8, 1): {"height": 3, "depth": 1},
    (1, 1, 4): {"width": 2},
    (1, 1, 100): {"width": 7},
    (1, 255, 1): {"height": 8},
}
"""For each window: the bits of the tap numbers of its dimensions, of the last two three digits."""

CONFIG = CoreConfig((DataType.INT8,), lanes=3)

EARLY = 6
"""Clocks that a job is on the port before its token; multiples of its steps are computed then."""


def draw_job(rng, config):
    """Return the registers of a job, and how many windows each dimension has."""
    word = lambda: rng.choice((0, 1, rng.getrandbits(8), rng.getrandbits(32)))  # noqa: E731
    outputs = dict.fromkeys(DIMENSIONS, 1)
    outputs |= {DIMENSIONS[axis]: rng.randint(1, 4) for axis in config.axes}
    constants = constant_registers(config)

    def dimension(name):
        steps: Any = {
            step: constants.get(f"{name}.{step}", word()) for step in ("position_step", "tap_step")
        }
        return DimensionRegisters(**steps)

    return JobRegisters(
        groups=rng.randint(1, 3), origin=word(), group_step=word(), lane_step=word(),
        depth=dimension("depth"), height=dimension("height"), width=dimension("width"),
    ), outputs  # fmt: skip


@pytest.mark.parametrize("max_window", TAP_BITS, ids=str)
@pytest.mark.parametrize(("gaps", "width"), [(0, 32), (0.4, 32), (0.2, 8), (0.2, 20)])
def test_positions(max_window, gaps, width):
    """Every lane's position, at the tap that won, is the sum of coordinate times weight."""
    check_positions(replace(CONFIG, max_window=max_window, index_width=width), gaps)


@pytest.mark.parametrize("lanes", [16, 18, 64])
def test_positions_of_many_lanes(lanes):
    """Many lanes have several running positions, which begin at different positions."""
    config = replace(CONFIG, max_window=(1, 1, 4), lanes=lanes)
    assert timing_parameters(config).lanes_of_position < lanes
    check_positions(config, gaps=0.3)


def check_positions(config, gaps):
    """Compare the positions of random jobs with sums of coordinate times weight."""
    max_window, width = config.max_window, config.index_width
    rng = random.Random(f"{max_window} {gaps} {width}")
    tap_bits = TAP_BITS[max_window]
    generator = PositionGenerator(config, tap_bits)
    layout, late = generator.i.lanes[0].shape(), latency(config)
    jobs, wanted = [], []
    for _ in range(25):
        job, outputs = draw_job(rng, config)
        position, numbers = job.origin, [range(outputs[name]) for name in DIMENSIONS]
        given = []
        for _, *place in itertools.product(range(job.groups), *numbers):
            word, positions = 0, []
            for lane in range(config.lanes):
                fields = {"key": rng.getrandbits(8)}
                back = 0
                for name in tap_bits:
                    tap = rng.randrange(max_window[DIMENSIONS.index(name)])
                    fields[f"tap_{name}"] = tap
                    back += tap * getattr(job, name).tap_step
                word |= pack(layout, fields) << layout.size * lane
                positions.append((position + lane * job.lane_step + back) % 2**width)
            finals = {
                name: number == outputs[name] - 1
                for name, number in zip(DIMENSIONS, place, strict=True)
            }
            control = {
                f"final_{DIMENSIONS[axis]}": finals[DIMENSIONS[axis]] for axis in config.axes
            }
            wanted.append(positions)
            given.append({"i.lanes": word, "i.control": pack(generator.i.control.shape(), control)})
            # To the next window, the innermost dimension that is not at its end takes a step.
            moving = [name for name in DIMENSIONS if not finals[name]]
            position += getattr(job, moving[-1]).position_step if moving else job.group_step
        jobs.append(Job({"job": job.to_bits(config)}, given))
    # The registers are on the port for some clocks before the token, and stay there until the last
    # stage has taken them.
    laid = stimulus(
        generator, jobs, rng,
        early=EARLY, stay=late + max(0, -clocks_ahead(config)), gaps=gaps, meets=0.7, after=late,
        token="i.token", valid="i.valid",
    )  # fmt: skip
    seen = watch(generator, with_lead(laid.clocks, config), {"positions": generator.positions})
    expected = dict(zip(itertools.chain(*laid.words), wanted, strict=True))
    assert len(expected) > 150
    for number, positions in expected.items():
        word = seen[number + max(0, clocks_ahead(config)) + late]["positions"]
        found = [word >> width * lane & ((1 << width) - 1) for lane in range(config.lanes)]
        assert found == positions


def with_lead(clocks, config):
    """Return the clocks, with the control of each word also on the ports that get it earlier.

    With a negative lead they get it later.
    """
    none = {"i.token": 0, "i.valid": 0, "i.control": 0}
    before, behind = (
        [none] * max(0, clocks) for clocks in (clocks_ahead(config), -clocks_ahead(config))
    )
    late, early = before + clocks + behind, behind + clocks + before
    names = ("token", "valid", "control")
    return [
        now | {f"early_{name}": coming[f"i.{name}"] for name in names}
        for now, coming in zip(late, early, strict=True)
    ]


def test_latency_is_that_of_the_sum():
    """The ways back from the last tap to the winner are added by a tree, in so many clocks."""
    clocks_of = {(3, 2, 5): 3, (2, 8, 1): 3, (1, 1, 4): 2, (1, 16, 3): 3, (1, 1, 100): 3}
    for max_window, clocks in clocks_of.items():
        config = replace(CONFIG, max_window=max_window)
        assert latency(config) == clocks
        assert latency(replace(config, index_width=0)) == 0
    assert latency(replace(CONFIG, max_window=(1, 1, 1))) == 0

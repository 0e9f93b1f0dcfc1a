"""The position generator, against sums of coordinate times weight."""

import itertools
import random

import pytest
from gateware import bits, pack, watch

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.hdl.position import PositionGenerator
from extremum.model import DataType

TAPS = {
    (3, 2, 5): {"width": 3, "height": 1, "depth": 2},
    (1, 1, 4): {"width": 2},
    (1, 1, 1): {},
}


def draw_job(rng, config):
    word = lambda: rng.choice((0, 1, rng.getrandbits(8), rng.getrandbits(32)))  # noqa: E731
    dimensions = [
        DimensionRegisters(outputs=rng.randint(1, 4), position_step=word(), tap_step=word())
        for _ in range(3)
    ]
    return JobRegisters(
        None or 0, False, False, False,
        groups=rng.randint(1, 3),
        tail=rng.randint(1, config.lanes),
        origin=word(), group_step=word(), lane_step=word(),
        depth=dimensions[0], height=dimensions[1], width=dimensions[2],
    )  # fmt: skip


@pytest.mark.parametrize("max_window", TAPS, ids=str)
@pytest.mark.parametrize("gaps", [0, 0.4])
def test_positions(max_window, gaps):
    config = CoreConfig((DataType.INT8,), lanes=3, max_window=max_window)
    rng = random.Random(f"{max_window} {gaps}")
    taps = TAPS[max_window]
    generator = PositionGenerator(config, taps)
    layout = generator.i.lanes[0].shape()
    clocks, expected = [{"i.token": 0, "i.valid": 0}], {}
    for _ in range(25):
        job = draw_job(rng, config)
        token = {"i.token": 1, "job": job.to_bits(config)}
        # The token may meet the last word of the job before, or come on its own.
        if rng.random() < 0.7:
            clocks[-1] |= token
        else:
            clocks.append(token | {"i.valid": 0})
        axes = {"depth": job.depth, "height": job.height, "width": job.width}
        ranges = [range(job.groups), *(range(axis.outputs) for axis in axes.values())]
        outputs = list(itertools.product(*ranges))
        for place in outputs:
            while rng.random() < gaps:
                noise = rng.getrandbits(layout.size * config.lanes)
                clocks.append({"i.token": 0, "i.valid": 0, "i.lanes": noise})
            group, *coordinates = place
            base = job.origin + group * job.group_step
            for axis, coordinate in zip(axes.values(), coordinates, strict=True):
                base += coordinate * axis.position_step
            positions, word = [], 0
            for lane in range(config.lanes):
                fields = {"code": rng.getrandbits(8), "ordinal": rng.getrandbits(32)}
                back = 0
                for name in taps:
                    tap = rng.randrange(max_window[list(axes).index(name)])
                    fields[f"tap_{name}"] = tap
                    back += tap * axes[name].tap_step
                word |= pack(layout, fields) << layout.size * lane
                total = base + lane * job.lane_step - back + fields["ordinal"]
                positions.append(total % 2**32)
            live = [group < job.groups - 1 or lane < job.tail for lane in range(config.lanes)]
            expected[len(clocks)] = (positions, live, place == outputs[-1])
            clocks.append({"i.token": 0, "i.valid": 1, "i.lanes": word})
        # The registers stay on the port until the last stage has taken them.
        for _ in range(generator.latency if rng.random() < 0.3 else 0):
            clocks.append({"i.token": 0, "i.valid": 0})
    clocks.append({"i.token": 0, "i.valid": 0})
    # A job's registers have to stay for the latency; those of the shortest do not here.
    seen = watch(
        generator,
        _held(clocks, generator.latency),
        {
            "positions": bits(generator.positions),
            "live": bits(generator.live),
            "last": generator.last,
        },
        settle=generator.latency,
    )
    shift = _held_shift(clocks, generator.latency)
    for number, (positions, live, last) in expected.items():
        clock = seen[shift[number] + generator.latency]
        words = [clock["positions"] >> 32 * lane & 0xFFFFFFFF for lane in range(config.lanes)]
        assert words == positions
        assert [bool(clock["live"] >> lane & 1) for lane in range(config.lanes)] == live
        assert clock["last"] == last


def _held_shift(clocks, latency):
    """Where each clock goes if a token waits until the one before it has passed the stage."""
    shift, free, offset = [], 0, 0
    for number, clock in enumerate(clocks):
        if clock.get("i.token"):
            offset += max(0, free - (number + offset))
            free = number + offset + latency + 1
        shift.append(number + offset)
    return shift


def _held(clocks, latency):
    shift = _held_shift(clocks, latency)
    spread = [{"i.token": 0, "i.valid": 0} for _ in range(shift[-1] + 1)]
    for clock, place in zip(clocks, shift, strict=True):
        spread[place] = clock
    return spread


def test_latency_has_a_clock_for_each_pooled_dimension():
    for max_window, taps in TAPS.items():
        generator = PositionGenerator(CoreConfig(max_window=max_window), taps)
        assert generator.latency == 2 + len(taps)
        watch(generator, [{"i.valid": 0}], {"last": generator.last})

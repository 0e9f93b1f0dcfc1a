"""An offer on a channel on which a block sends stays as it is until it is taken."""

from types import SimpleNamespace

import pytest
from cocotb.types import LogicArray

from extremum.host.simulation.stream_rules import watched

STREAM = {"m_axis_value_tdata": 8, "m_axis_value_tkeep": 1, "m_axis_value_tlast": 1}
LITE = {"s_axil_bresp": 2, "s_axil_rdata": 32, "s_axil_rresp": 2}
CHANNELS = {"m_axis_value_t": STREAM, "s_axil_b": LITE, "s_axil_r": LITE}
PAYLOAD = [*STREAM, *LITE]


def block():
    """Return a block whose outputs are all 0, out of reset, with what watches it."""
    names = {f"{channel}{end}": 1 for channel in CHANNELS for end in ("valid", "ready")}
    widths = names | STREAM | LITE | {"aresetn": 1, "s_axil_awvalid": 1}
    dut = SimpleNamespace(
        **{name: SimpleNamespace(value=LogicArray(0, width)) for name, width in widths.items()}
    )
    dut.aresetn.value = LogicArray(1, 1)
    channels = watched(dut)
    for channel in channels * 2:  # the first clock behind a reset is not looked at
        assert channel.look() == (False, "")
    return dut, channels


def complaints(channels):
    return [told for channel in channels for _, told in [channel.look()] if told]


@pytest.mark.parametrize("name", PAYLOAD)
def test_what_is_offered_must_not_change(name):
    dut, channels = block()
    (channel,) = (channel for channel in CHANNELS if name.startswith(channel))
    getattr(dut, f"{channel}valid").value = LogicArray(1, 1)
    assert not complaints(channels)
    signal = getattr(dut, name)
    signal.value = LogicArray(1, len(signal.value))
    (told,) = complaints(channels)
    assert told.endswith(f"{name.removeprefix(channel)} of an offer changed from 0x0 to 0x1")


@pytest.mark.parametrize("channel", CHANNELS)
def test_an_offer_must_not_be_taken_back(channel):
    dut, channels = block()
    valid = getattr(dut, f"{channel}valid")
    valid.value = LogicArray(1, 1)
    assert not complaints(channels)
    valid.value = LogicArray(0, 1)
    (told,) = complaints(channels)
    assert told.endswith("an offer was taken back before it was accepted")


@pytest.mark.parametrize("name", PAYLOAD)
def test_what_was_taken_may_change(name):
    dut, channels = block()
    (channel,) = (channel for channel in CHANNELS if name.startswith(channel))
    for end in ("valid", "ready"):
        getattr(dut, f"{channel}{end}").value = LogicArray(1, 1)
    assert [channel.look() for channel in channels].count((True, "")) == 1
    signal = getattr(dut, name)
    signal.value = LogicArray(1, len(signal.value))
    assert not complaints(channels)


@pytest.mark.parametrize("level", "XZ")
@pytest.mark.parametrize("end", ["valid", "ready"])
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_handshake_must_be_known(channel, end, level):
    """Whoever takes an unknown level for a 0 sees no offer, and misses nothing."""
    dut, channels = block()
    getattr(dut, f"{channel}{end}").value = LogicArray(level)
    (told,) = complaints(channels)
    assert told.endswith(f": {channel[-1]}{end} is {level}, not 0 or 1")
    # In reset it may be, and in the clock in which one begins.
    dut.aresetn.value = LogicArray(0, 1)
    assert not complaints(channels)

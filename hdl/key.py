"""The comparison key: the order of the elements, as unsigned integers.

This is where element types matter in the gateware; behind it only NaN is told apart. An element
becomes a *key*, an unsigned integer that is greater for the better element, so that one unsigned
comparison serves all types, maxima and minima, and both NaN modes:

=============================  ======================  =========================================
element                        top bit of the key      other bits
=============================  ======================  =========================================
unsigned integer               its own                 its own
signed integer                 its own, inverted       its own
positive number, +0, -0        1                       magnitude
negative number                0                       magnitude, inverted
NaN that beats every number    1                       magnitude
NaN that loses to every number 0                       magnitude, inverted
=============================  ======================  =========================================

To look for a minimum, every bit of a number's key is inverted, but no bit of a NaN's. The magnitude
of a NaN is beyond that of infinity, so its key lies beyond those of all numbers. NaNs are equal to
each other, whatever their magnitudes say: comparisons see to that by the flag ``nan``.

The key keeps every bit of the element but a float's sign, which is lost in -0 and in NaN. The sign
travels beside the key, so the element that comes out has the bits that went in. In a core that
gives no values, all NaNs have one key, of all ones or all zeros, and there are no flags.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import input_layout, job_layout
from extremum.hdl.registers import register
from extremum.hdl.select import select
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import Timed, copied, copy_count, delay, domain, timing_parameters
from extremum.hdl.words import candidate_layout, result_layout
from extremum.model import DataType


def latency(config: CoreConfig) -> int:
    """Return the clocks from an element to its key."""
    return _analysis(config) + 2 * timing_parameters(config).key_clocks


def _analysis(config: CoreConfig) -> int:
    """Return the clocks of :func:`_analyse`; floats take one more, to look at their fields."""
    return timing_parameters(config).key_clocks * (2 if config.has_floats else 1)


class KeyEncoder(wiring.Component):
    """Turns elements into keys.

    Latency: :func:`latency` clocks. Throughput: one beat per clock, taken always.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    token : In(1)
        The next job's elements come next.
    elements : In(input_layout(config))
        One element in the low bits of each lane.
    keys : Out(ArrayLayout)
        A candidate for each lane.
    """

    job: data.View
    token: Signal
    elements: data.View
    keys: data.View

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
                "elements": In(input_layout(config)),
                "keys": Out(data.ArrayLayout(candidate_layout(config, {}), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        # First the fields of a float are analysed, then the key's top bit is decided and whether
        # the other bits are inverted, and the last clock makes the key.
        analysed, parameters = _analysis(config), timing_parameters(config)
        clocks = parameters.key_clocks
        count = copy_count(parameters, config.lanes)
        tokens = copied(m, Timed(m, self.token), analysed, count, "token")
        token = tokens[0]
        new_type, new_minimum, new_ignore_nan = (
            register(config, self.job, name) for name in ("data_type", "minimum", "ignore_nan")
        )
        data_type = Timed(m, shadow(m, parameters, new_type, token, "data_type"), analysed)
        minima = [shadow(m, parameters, new_minimum, own, "minimum") for own in tokens]
        ignore_nan = Timed(m, shadow(m, parameters, new_ignore_nan, token, "ignore_nan"), analysed)
        late_type = data_type.at(analysed + clocks)
        at_once = parameters.any_bits
        for lane in range(config.lanes):
            element = Timed(m, Value.cast(self.elements[lane]))
            candidate = self.keys[lane]
            minimum = Timed(m, minima[lane // parameters.lanes_of_copy], analysed)
            choices = [
                _analyse(m, built, element, at_once, minimum=minimum, ignore_nan=ignore_nan)
                for built in config.data_types
            ]
            top, invert, nan, sign = (Signal(name=n) for n in ("top", "invert", "nan", "sign"))
            analysis = Cat(top, invert, nan, sign)
            m.d[domain(clocks)] += analysis.eq(select(data_type.at(analysed), choices))
            body = element.at(analysed + clocks)
            if "nan" in candidate.shape().members:
                m.d[domain(clocks)] += [candidate.nan.eq(nan), candidate.sign.eq(sign)]
                unify: Value = Const(0)
            else:
                unify = nan
            keys: list[Value] = []
            for built in config.data_types:
                rest = body[: built.format.width - 1]
                flipped = rest ^ invert.replicate(len(rest))
                if built.format.is_float:
                    flipped = Mux(unify, top.replicate(len(rest)), flipped)
                keys.append(Cat(flipped, top))
            m.d[domain(clocks)] += candidate.key.eq(select(late_type, keys))
        return m


def _any(m: Module, bits: Value, clocks: int, at_once: int) -> Value:
    """Return whether any bit is set: each clock reduces up to ``at_once`` bits to one."""
    for _ in range(clocks):
        parts = (bits[low : low + at_once] for low in range(0, len(bits), at_once))
        bits = delay(m, Cat(part.any() for part in parts), 1)
    return bits.any()


def _analyse(
    m: Module,
    data_type: DataType,
    element: Timed,
    at_once: int,
    *,
    minimum: Timed,
    ignore_nan: Timed,
) -> Value:
    """Return the key's top bit, whether the other bits are inverted, and the flags.

    They are valid in the clock of ``minimum`` and ``ignore_nan``. In each clock until then
    ``at_once`` bits of a float's fields are reduced to one.
    """
    form, bits, analysed = data_type.format, element.value, minimum.clock
    sign = Timed(m, bits[form.width - 1], element.clock).at(analysed)
    if not form.is_float:
        top = sign ^ minimum.value
        return Cat(~top if form.signed else top, minimum.value, Const(0, 2))
    mantissa = bits[: form.mantissa]
    exponent = bits[form.mantissa : form.width - 1]
    clocks = analysed - element.clock
    ones = ~_any(m, ~exponent, clocks, at_once)
    some, rest = (_any(m, part, clocks, at_once) for part in (exponent, mantissa))
    nan = ones & rest
    zero = ~(some | rest)
    negative = Mux(nan, ignore_nan.at(analysed), (sign & ~zero) ^ minimum.value)
    return Cat(~negative, negative, nan, sign)


def restore_latency(config: CoreConfig) -> int:
    """Return the clocks from a key to its element."""
    return timing_parameters(config).key_clocks


class KeyDecoder(wiring.Component):
    """Turns keys back into elements, bit for bit, and an empty window into the lowest value.

    Latency: :func:`restore_latency` clocks. Throughput: one word per clock, taken always.

    Parameters
    ----------
    config
        Configuration of the core.
    tap_bits
        Bits of the tap numbers that the candidates carry, which are ignored.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    token : In
        The next job's keys come next, once for each copy of such a flag that the lanes have.
    empty : In
        The window is empty, also once for each copy.
    lanes : In(ArrayLayout)
        The keys, as candidates.
    values : Out(ArrayLayout)
        The elements, in the low bits of their lanes; the other bits are 0.
    """

    job: data.View
    token: Signal
    empty: Signal
    lanes: data.View
    values: data.View

    def __init__(self, config: CoreConfig, tap_bits: dict[str, int]):
        self.config = config
        count = copy_count(timing_parameters(config), config.lanes)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(count),
                "empty": In(count),
                "lanes": In(data.ArrayLayout(result_layout(config, tap_bits), config.lanes)),
                "values": Out(data.ArrayLayout(unsigned(config.element_width), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, parameters = self.config, timing_parameters(self.config)
        new_type, new_minimum = (
            register(config, self.job, name) for name in ("data_type", "minimum")
        )
        data_type = shadow(m, parameters, new_type, self.token[0], "data_type")
        minima = [shadow(m, parameters, new_minimum, token, "minimum") for token in self.token]
        for lane in range(config.lanes):
            copy = lane // parameters.lanes_of_copy
            values = [
                Mux(
                    self.empty[copy],
                    Const(built.format.lowest, built.format.width),
                    _restore(built, self.lanes[lane], minima[copy]),
                )
                for built in config.data_types
            ]
            m.d[domain(parameters.key_clocks)] += self.values[lane].eq(select(data_type, values))
        return m


def _restore(data_type: DataType, candidate: data.View, minimum: Value) -> Value:
    """Return the element of a key."""
    form, key = data_type.format, Value.cast(candidate.key)
    top, body = key[form.width - 1], key[: form.width - 1]
    if form.is_float:
        return Cat(body ^ (~top).replicate(len(body)), candidate.sign)
    restored = body ^ minimum.replicate(len(body))
    return Cat(restored, ~(top ^ minimum) if form.signed else top ^ minimum)

"""The order of the elements, as unsigned integers: the one place where types matter.

An element becomes a *code*, an unsigned integer that is greater for the better element, so that
one unsigned comparison serves all types, maxima and minima, and both NaN modes:

=============================  ======================  =========================================
element                        top bit of the code     other bits
=============================  ======================  =========================================
unsigned integer               its own                 its own
signed integer                 its own, inverted       its own
positive number, +0, -0        1                       magnitude
negative number                0                       magnitude, inverted
NaN that beats every number    1                       magnitude
NaN that loses to every number 0                       magnitude, inverted
=============================  ======================  =========================================

To look for a minimum every bit of a number's code is inverted, never a NaN's. A NaN's magnitude
is beyond that of infinity, so its code lies beyond those of the numbers. NaNs are equal among
each other, whatever their magnitudes say: comparisons see to that with the flag ``nan``.

The code keeps every bit of the element but a float's sign, which is lost in -0 and in NaN. It
travels beside the code, so the element that comes out has the bits that went in. In a core that
no element leaves, all NaNs have one code, of all ones or all zeros, and there are no flags.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import candidate_layout as candidate
from extremum.hdl.flow import choose, delay, held, result_layout
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.model import DataType

_MANTISSA_BITS = {16: 10, 32: 23}


def latency(config: CoreConfig) -> int:
    """Return the clocks from an element to its code."""
    return _analysis(config) + 2


def _analysis(config: CoreConfig) -> int:
    """Return the clocks until it is known what an element is; floats take one more."""
    return 2 if config.has_floats else 1


def _width(data_type: DataType) -> int:
    return 8 * data_type.dtype.itemsize


class Encoder(wiring.Component):
    """Turns elements into codes.

    Latency: :func:`latency` clocks. Throughput: one beat per clock.

    Parameters
    ----------
    config
        Of the core.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    token : In(1)
        The next job's elements come next.
    elements : In(ArrayLayout)
        Each in the low bits of its lane.
    codes : Out(ArrayLayout)
        A candidate for each lane.
    """

    job: data.View
    token: Signal
    elements: data.View
    codes: data.View

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
                "elements": In(data.ArrayLayout(unsigned(config.element_width), config.lanes)),
                "codes": Out(data.ArrayLayout(candidate(config, {}), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        # First what the fields of a float are, then what the top bit becomes and whether the others
        # are inverted, and in the last clock the code.
        analysis = _analysis(config)
        token = delay(m, self.token, analysis)
        data_type, minimum, ignore_nan = (
            held(m, register(config, self.job, name), token, name)
            for name in ("data_type", "minimum", "ignore_nan")
        )
        late_type = delay(m, data_type, 1)
        for lane in range(config.lanes):
            raw = Value.cast(self.elements[lane])
            candidate = self.codes[lane]
            choices = [
                _analyse(m, data_type, raw, minimum, ignore_nan, late=analysis)
                for data_type in config.data_types
            ]
            top, invert, nan, sign = (Signal(name=n) for n in ("top", "invert", "nan", "sign"))
            m.d.sync += Cat(top, invert, nan, sign).eq(choose(data_type, choices))
            body = delay(m, raw, analysis + 1)
            if "nan" in candidate.shape().members:
                m.d.sync += [candidate.nan.eq(nan), candidate.sign.eq(sign)]
                unify: Value = Const(0)
            else:
                unify = nan
            codes: list[Value] = []
            for built in config.data_types:
                rest = body[: _width(built) - 1]
                flipped = rest ^ invert.replicate(len(rest))
                if built.dtype.kind == "f":
                    flipped = Mux(unify, top.replicate(len(rest)), flipped)
                codes.append(Cat(flipped, top))
            m.d.sync += candidate.code.eq(choose(late_type, codes))
        return m


def _any(m: Module, bits: Value, clocks: int) -> Value:
    """Return whether any bit is set: each clock brings four of them, or fewer, to one."""
    for _ in range(clocks):
        parts = (bits[low : low + 4] for low in range(0, len(bits), 4))
        bits = delay(m, Cat(part.any() for part in parts), 1)
    return bits.any()


def _analyse(
    m: Module, data_type: DataType, raw: Value, minimum: Value, ignore_nan: Value, *, late: int
) -> Value:
    """Return the code's top bit, whether the others are inverted, and the flags.

    They are ``late`` clocks late.
    """
    width = _width(data_type)
    sign = delay(m, raw[width - 1], late)
    if data_type.dtype.kind == "u":
        return Cat(sign ^ minimum, minimum, Const(0, 2))
    if data_type.dtype.kind == "i":
        return Cat(~(sign ^ minimum), minimum, Const(0, 2))
    mantissa = raw[: _MANTISSA_BITS[width]]
    exponent = raw[_MANTISSA_BITS[width] : width - 1]
    ones = ~_any(m, ~exponent, late)
    some, rest = _any(m, exponent, late), _any(m, mantissa, late)
    nan = ones & rest
    zero = ~(some | rest)
    negative = Mux(nan, ignore_nan, (sign & ~zero) ^ minimum)
    return Cat(~negative, negative, nan, sign)


class Decoder(wiring.Component):
    """Turns codes back into elements, bit for bit; an empty window into the identity of max.

    Latency: :attr:`LATENCY` clocks. Throughput: one word per clock.

    Parameters
    ----------
    config
        Of the core.
    taps
        Bits of the numbers of the taps, which are ignored.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    token : In(1)
        The next job's codes come next.
    empty : In(1)
        The window is empty.
    lanes : In(ArrayLayout)
        The codes, as candidates.
    values : Out(ArrayLayout)
        The elements, in the low bits of their lanes; the other bits are 0.
    """

    job: data.View
    token: Signal
    empty: Signal
    lanes: data.View
    values: data.View

    LATENCY = 1

    def __init__(self, config: CoreConfig, taps: dict[str, int]):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
                "empty": In(1),
                "lanes": In(data.ArrayLayout(result_layout(config, taps), config.lanes)),
                "values": Out(data.ArrayLayout(unsigned(config.element_width), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        data_type, minimum = (
            held(m, register(config, self.job, name), self.token, name)
            for name in ("data_type", "minimum")
        )
        for lane in range(config.lanes):
            values = [
                Mux(
                    self.empty,
                    _identity(built),
                    _restore(built, self.lanes[lane], minimum),
                )
                for built in config.data_types
            ]
            m.d.sync += self.values[lane].eq(choose(data_type, values))
        return m


def _restore(data_type: DataType, candidate: data.View, minimum: Value) -> Value:
    width = _width(data_type)
    code = Value.cast(candidate.code)
    top, body = code[width - 1], code[: width - 1]
    if data_type.dtype.kind == "u":
        return Cat(body ^ minimum.replicate(width - 1), top ^ minimum)
    if data_type.dtype.kind == "i":
        return Cat(body ^ minimum.replicate(width - 1), ~(top ^ minimum))
    return Cat(body ^ (~top).replicate(width - 1), candidate.sign)


def _identity(data_type: DataType) -> Const:
    """Return the element that is below all others: -inf, or the least integer."""
    width = _width(data_type)
    if data_type.dtype.kind == "u":
        return Const(0, width)
    if data_type.dtype.kind == "i":
        return Const(1 << (width - 1), width)
    mantissa = _MANTISSA_BITS[width]
    return Const(((1 << (width - mantissa)) - 1) << mantissa, width)

"""Keys: their order is the order of IEEE 754 and of the integers, and they keep every bit."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Const, Mux, Value

from extremum.hdl.config import OPERATORS, CoreConfig
from extremum.hdl.key import KeyDecoder, KeyEncoder, latency, restore_latency
from extremum.hdl.select import select
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.job import Job
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property

POSITIONS_ALONE = ("argmin", "argmax")
"""The operators of a core that gives no values, in which NaNs have no flags."""

REGISTERS = ("minimum", "ignore_nan", "data_type")


def _is_nan(data_type: DataType, x: Value) -> Value:
    """Return whether an element is NaN: its exponent is all ones and its mantissa is not 0."""
    form = data_type.format
    if not form.is_float:
        return Const(0, 1)
    return x[form.mantissa : form.width - 1].all() & x[: form.mantissa].any()


def _less(data_type: DataType, x: Value, y: Value) -> Value:
    """Return whether ``x < y`` holds of two numbers, as IEEE 754 and two's complement say it."""
    form = data_type.format
    x, y = x[: form.width], y[: form.width]
    if not form.is_float:
        return x.as_signed() < y.as_signed() if form.signed else x < y
    # A float is a sign and a magnitude; the order of magnitudes is that of their bits.
    x_size, y_size, x_sign, y_sign = x[:-1], y[:-1], x[-1], y[-1]
    both_zero = ~(x_size.any() | y_size.any())
    of_signs = Mux(x_sign, ~y_sign | (y_size < x_size), ~y_sign & (x_size < y_size))
    return ~both_zero & of_signs


def order(config: CoreConfig, p: Property) -> None:
    """State that two elements are ordered by their keys as the contract orders them."""
    encoder, clocks = KeyEncoder(config), latency(config)
    inside = p.add("encoder", encoder)
    job = Job(p, encoder.job, encoder.token, clocks)
    job.is_in(p, inside, config, REGISTERS, clocks - 2)
    minimum, ignore, data_type = (
        job.of(p, config, name, clocks) for name in ("minimum", "ignore_nan", "data_type")
    )
    known = p.late(job.begun, clocks) & (data_type < len(config.data_types))
    x, y = (p.late(Value.cast(encoder.elements[lane]), clocks) for lane in range(2))
    x_less, y_less, x_nan, y_nan = (
        select(data_type, [of(built, *given) for built in config.data_types])
        for of, given in ((_less, (x, y)), (_less, (y, x)), (_is_nan, (x,)), (_is_nan, (y,)))
    )
    x_key, y_key = (Value.cast(encoder.keys[lane].key) for lane in range(2))
    numbers = known & ~x_nan & ~y_nan
    p.claim(
        "of two numbers the better one has the greater key",
        ~numbers | ((x_key > y_key) == Mux(minimum, x_less, y_less)),
    )
    p.claim(
        "two numbers have the same key if neither is better",
        ~numbers | ((x_key == y_key) == ~(x_less | y_less)),
    )
    p.reached("two numbers in order", numbers & x_less & (x[-1] ^ y[-1]))
    p.reached("two numbers that are equal", numbers & (x_key == y_key))
    if not config.has_floats:
        return
    differ = known & x_nan & ~y_nan
    p.claim(
        "NaN beats every number, or loses to every number",
        ~differ | Mux(ignore, x_key < y_key, x_key > y_key),
    )
    p.reached("NaN and a number, in a minimum that ignores NaN", differ & minimum & ignore)
    p.reached("two zeros of different sign", numbers & (x_key == y_key) & (x != y))
    if config.has_values:
        p.claim("the flag tells NaN", ~known | (encoder.keys[0].nan == x_nan))
    else:
        p.claim("all NaNs have one key", ~(known & x_nan & y_nan) | (x_key == y_key))


def bits(config: CoreConfig, p: Property) -> None:
    """State that the element that comes out of a key has the bits of the one that went in."""
    encoder, decoder = KeyEncoder(config), KeyDecoder(config, {})
    clocks = latency(config)
    total = clocks + restore_latency(config)
    first = p.add("encoder", encoder)
    second = p.add("decoder", decoder, driven=("job", "token", "lanes"))
    job = Job(p, encoder.job, encoder.token, total)
    job.is_in(p, first, config, REGISTERS, clocks - 2)
    job.is_in(p, second, config, REGISTERS, clocks)
    p.m.d.comb += [
        decoder.job.eq(encoder.job),
        decoder.token.eq(p.late(encoder.token, clocks)),
    ]
    for name in ("key", "nan", "sign"):
        if name in encoder.keys[0].shape().members:
            given, taken = encoder.keys[0][name], decoder.lanes[0][name]
            p.m.d.comb += Value.cast(taken).eq(Value.cast(given))
    types = [built.format for built in config.data_types]
    data_type = job.of(p, config, "data_type", total)
    known = p.late(job.begun, total) & (data_type < len(types))
    x, empty = p.late(Value.cast(encoder.elements[0]), total), p.late(decoder.empty, 1)
    own = select(data_type, [x[: form.width] for form in types])
    lowest = select(data_type, [Const(form.lowest, form.width) for form in types])
    value = Value.cast(decoder.values[0])
    p.claim("the element comes out bit for bit", ~known | empty | (value == own))
    p.claim("an empty window gives the type's lowest value", ~(known & empty) | (value == lowest))
    p.reached("an element with its highest bit", known & ~empty & value[-1])
    p.reached("an empty window", known & empty)


MODULE = "extremum.hdl.key"
ZERO = Fault("-0 is below +0", MODULE, "(sign & ~zero)", "sign")
NAN = Fault("NaN follows the direction", MODULE, "Mux(nan, ignore_nan.at(analysed), ",
            "Mux(nan, ignore_nan.at(analysed) ^ minimum.value, ")  # fmt: skip
SIGNED = Fault("signed is read as unsigned", MODULE, "Cat(~top if form.signed else top, minimum",
               "Cat(top, minimum")  # fmt: skip
UPSIDE = Fault("a minimum inverts the top bit alone", MODULE,
               "else top, minimum.value,", "else top, Const(0, 1),")  # fmt: skip
MANTISSA = Fault("a bit of the mantissa is not looked at", MODULE, "bits[: form.mantissa]",
                 "bits[1 : form.mantissa]")  # fmt: skip
FLAGLESS = Fault("NaNs keep their payloads", MODULE, "unify: Value = Const(0)\n            else:\n"
                 "                unify = nan", "unify: Value = Const(0)\n            else:\n"
                 "                unify = Const(0)")  # fmt: skip
SIGN_LOST = Fault("NaN loses its sign", MODULE, "Cat(~negative, negative, nan, sign)",
                  "Cat(~negative, negative, nan, sign & ~nan)")  # fmt: skip
TOP_BIT = Fault("the top bit comes back as in a maximum", MODULE,
                "~(top ^ minimum) if form.signed", "~top if form.signed")  # fmt: skip


def _order(config: CoreConfig, name: str, which: str, *faults: Fault, quick: bool = False) -> Proof:
    return Proof(
        f"key-order-{name}", "hdl/key.py",
        f"For all pairs of {which}, maximum and minimum, both NaN modes: the order of the keys is "
        "the order of the elements, and +0 equals -0.",
        partial(order, config), depth=6, search=10, faults=faults, quick=quick,
    )  # fmt: skip


def _each_type() -> list[Proof]:
    proofs = []
    for built in DataType:
        name = built.name.lower()
        own, quick = CoreConfig((built,), lanes=2), built is DataType.FLOAT16
        if built.format.is_float:
            proofs.append(_order(own, name, built.name, ZERO, NAN, MANTISSA, quick=quick))
        else:
            faults = (UPSIDE, SIGNED) if built.format.signed else (UPSIDE,)
            proofs.append(_order(own, name, built.name, *faults, quick=built is DataType.INT8))
    return proofs


ALL = CoreConfig(tuple(DataType), lanes=2, operators=OPERATORS)
NO_VALUES = CoreConfig(tuple(DataType), lanes=2, operators=POSITIONS_ALONE)

PROOFS = (
    *_each_type(),
    _order(ALL, "all-types", "each type, in a core that has all ten", ZERO, NAN, SIGNED),
    _order(
        NO_VALUES, "no-values", "each type, in a core that gives no values", ZERO, NAN, FLAGLESS
    ),
    Proof(
        "key-bits", "hdl/key.py",
        "In a core of all ten types every element, NaN included, comes back out of its key bit for "
        "bit, and an empty window gives the type's lowest value.",
        partial(bits, ALL), depth=7, search=10, faults=(SIGN_LOST, TOP_BIT),
    ),
)  # fmt: skip

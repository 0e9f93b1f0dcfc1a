"""The rules of a stream, as claims about a port."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value, ValueLike

from extremum.tb.formal.property import Property

NEVER = Const(0, 1)


def offers_stay(
    p: Property,
    name: str,
    valid: Value,
    ready: Value,
    *payload: ValueLike,
    unless: Value = NEVER,
) -> None:
    """Claim that what is offered on a port stays, with its payload, until it is taken.

    ``unless`` excuses the port in this clock, for a reset of its own.
    """
    given = Cat(*(Value.cast(part) for part in payload))
    refused = p.before(valid & ~ready) & ~unless
    p.claim(f"{name}: an offer stays until it is taken", ~refused | valid)
    p.claim(f"{name}: its payload stays as well", ~(refused & valid) | (given == p.before(given)))
    p.reached(f"{name}: an offer that waits is taken", p.before(valid & ~ready) & valid & ready)

"""The language in which a property is stated: a module around the block, with claims."""

from __future__ import annotations

from typing import Any

from amaranth import asserts, hdl
from amaranth.hdl import (
    DomainRenamer,
    Fragment,
    Module,
    ResetSignal,
    ShapeLike,
    Signal,
    Value,
    ValueLike,
    unsigned,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from extremum.tb.formal.inside import Inside

# The stubs of Amaranth do not know these as they are.
AnyConst, Assert, Assume, Cover = (
    getattr(module, name)
    for module, name in (
        (asserts, "AnyConst"), (hdl, "Assert"), (hdl, "Assume"), (hdl, "Cover"),
    )
)  # fmt: skip


class Property:
    """A module around the block, whose inputs may be anything, with claims about it.

    The reset is an input as well: it may come in any clock, and what is stated must hold all the
    same. The registers that the property adds are reset with those of the block.

    Parameters
    ----------
    with_invariants
        Whether :meth:`invariant` claims what it is given. Only a proof by induction needs that.

    Attributes
    ----------
    m
        The module, to which a property may add logic of its own.
    inputs
        The ports of the module.
    shown
        Names of the signals that a counterexample shows.
    labels
        What each claim says, by the name of the signal that tells whether it holds.
    """

    def __init__(self, *, with_invariants: bool = True):
        self.m = Module()
        self.inputs: list[Signal] = []
        self.shown: list[str] = ["rst"]
        self.labels: dict[str, str] = {}
        self._with_invariants = with_invariants
        # A block without a register would have no clock.
        self.m.d.sync += Signal(name="clocked").eq(1)

    def input(self, name: str, shape: ShapeLike = 1) -> Any:
        """Return a signal that may be anything in each clock."""
        signal = Signal(shape, name=name)
        self._is_free(Value.cast(signal))
        return signal

    def constant(self, name: str, shape: ShapeLike = 1) -> Any:
        """Return a signal that may be anything, but is the same in all clocks."""
        signal = Signal(shape, name=name)
        value = Value.cast(signal)
        self.m.d.comb += value.eq(AnyConst(unsigned(len(value))))
        self.shown.append(name)
        return signal

    def show(self, name: str, value: ValueLike) -> Value:
        """Return a value, in a signal that a counterexample shows."""
        value = Value.cast(value)
        signal = Signal(value.shape(), name=name)
        self.m.d.comb += signal.eq(value)
        self.shown.append(name)
        return signal

    def before(self, value: ValueLike) -> Signal:
        """Return what a value was a clock ago; 0 in the first clock after a reset."""
        value = Value.cast(value)
        register = Signal(value.shape(), name="before")
        self.m.d.sync += register.eq(value)
        return register

    def late(self, value: ValueLike, clocks: int) -> Value:
        """Return what a value was some clocks ago; 0 in as many clocks after a reset."""
        late = Value.cast(value)
        for _ in range(clocks):
            late = self.before(late)
        return late

    def age(self, most: int) -> Signal:
        """Return the clocks since the reset, up to ``most``."""
        clocks = Signal(range(most + 1), name="age")
        with self.m.If(clocks != most):
            self.m.d.sync += clocks.eq(clocks + 1)
        self.invariant("the age is in its range", clocks <= most)
        return clocks

    def add(
        self,
        name: str,
        block: wiring.Component,
        *,
        driven: tuple[str, ...] = (),
        domain: str = "sync",
    ) -> Inside:
        """Add a block; return a view of what is in it.

        Parameters
        ----------
        name
            Name of the block in the module.
        block
            The block. Its inputs may be anything, but those in ``driven``.
        driven
            Names of inputs that the property drives, as in the block's signature; that of an
            interface stands for all of its members.
        domain
            What the clock domain of the block is called, if it brings one of its own.
        """
        for path, member, port in block.signature.flatten(block):
            names = {".".join(map(str, path)), path[0]}
            if member.flow is In and not names & set(driven):
                self._is_free(Value.cast(port))
        renamed = block if domain == "sync" else DomainRenamer(domain)(block)
        fragment: Any = Fragment.get(renamed, None)
        self.m.submodules[name] = fragment
        return Inside(fragment)

    def enclose(self, name: str, module: Module) -> Inside:
        """Add a module of the property's own, in which something is built that is no component."""
        fragment: Any = Fragment.get(module, None)
        self.m.submodules[name] = fragment
        return Inside(fragment)

    def assume(self, condition: ValueLike) -> None:
        """Look only at what fulfils a condition in every clock."""
        self.m.d.comb += Assume(condition)

    def never_reset(self) -> None:
        """Look only at what happens without a reset: for a block that has a reset of its own."""
        self.assume(~ResetSignal("sync"))

    def claim(self, label: str, condition: ValueLike) -> None:
        """State that a condition holds in every clock."""
        name = f"claim_{len(self.labels)}"
        holds = Signal(name=name)
        self.labels[name] = label
        self.m.d.comb += [holds.eq(Value.cast(condition).bool()), _placed(Assert(holds), name)]

    def invariant(self, label: str, condition: ValueLike) -> None:
        """State a condition that is of interest only because it helps the induction."""
        if self._with_invariants:
            self.claim(label, condition)

    def reached(self, label: str, condition: ValueLike) -> None:
        """State that a condition can come true: so the assumptions leave the interesting cases."""
        name = f"reached_{len(self.labels)}"
        happens = Signal(name=name)
        self.labels[name] = label
        self.m.d.comb += [happens.eq(Value.cast(condition).bool()), _placed(Cover(happens), name)]

    def _is_free(self, value: Value) -> None:
        if not isinstance(value, Signal):
            raise TypeError(f"an input must be a signal, not {value!r}")
        self.inputs.append(value)
        self.shown.append(value.name)


def _placed(statement: Any, name: str) -> Any:
    """Return a statement whose place in the source is a name: that is what the tools print."""
    statement.src_loc = (name, 0)
    return statement

"""The AXI4-Lite port: each request is carried out once and answered once, by the rules."""

from __future__ import annotations

from amaranth.hdl import Cat, Mux, Signal, Value

from extremum.hdl.axi.lite import AxiLitePort, Response
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property
from extremum.tb.formal.streams import offers_stay


def _pending(p: Property, name: str, comes: Value, leaves: Value) -> Signal:
    """Return how many requests have come, less the answers that have left."""
    count = Signal(2, name=name)
    p.m.d.sync += count.eq(count + comes - leaves)
    return count


def _latest(p: Property, name: str, when: Value, value: Value) -> Signal:
    """Return a value as it was when a condition held last."""
    kept = Signal(value.shape(), name=name)
    with p.m.If(when):
        p.m.d.sync += kept.eq(value)
    return kept


def _waited(p: Property, name: str, condition: Value, most: int) -> Signal:
    """Return for how many clocks a condition has held before this one, up to a number."""
    clocks = Signal(range(most + 2), name=name)
    p.m.d.sync += clocks.eq(Mux(condition, Mux(clocks > most, clocks, clocks + 1), 0))
    p.invariant(f"{name} in its range", clocks <= most + 1)
    return clocks


def writes(p: Property) -> None:
    """State how writes are carried out and answered."""
    block = AxiLitePort()
    inside = p.add("port", block)
    axi, bus = block.axi, block.bus
    offers_stay(p, "b", axi.bvalid, axi.bready, axi.bresp)
    takes_address, takes_data = axi.awvalid & axi.awready, axi.wvalid & axi.wready
    answered = axi.bvalid & axi.bready
    addresses = _pending(p, "addresses", takes_address, answered)
    words = _pending(p, "words", takes_data, answered)
    # Requests that are not carried out yet.
    asked_address = _pending(p, "asked_address", takes_address, bus.write)
    asked_data = _pending(p, "asked_data", takes_data, bus.write)
    p.claim("a write has an address and data, and they are used once",
            ~bus.write | ((asked_address == 1) & (asked_data == 1)))  # fmt: skip
    p.claim("an answer has a write that was carried out",
            ~axi.bvalid | ((addresses > asked_address) & (words > asked_data)))  # fmt: skip
    address = _latest(p, "address", takes_address, axi.awaddr[2:])
    data = _latest(p, "data", takes_data, Cat(axi.wdata, axi.wstrb))
    told = Cat(bus.write_data, bus.write_strobes)
    p.claim(
        "a write has the address that came", (asked_address == 0) | (bus.write_address == address)
    )
    p.claim("a write has the data that came", (asked_data == 0) | (told == data))
    p.claim("none is carried out while the registers make writes wait",
            ~(bus.write & bus.write_waits))  # fmt: skip
    was_asked = p.before(bus.write)
    p.claim(
        "both stay for a clock more",
        ~was_asked
        | ((bus.write_address == p.before(bus.write_address)) & (told == p.before(told))),
    )
    error = _latest(p, "error", was_asked, bus.write_error)
    p.claim("the answer tells what the registers said",
            ~axi.bvalid | (axi.bresp == Mux(error, Response.SLVERR, Response.OKAY)))  # fmt: skip
    is_due = (addresses != 0) & (words != 0) & ~axi.bvalid & ~bus.write_waits
    p.claim("an answer comes in three clocks without waiting", _waited(p, "due", is_due, 3) <= 2)
    for name, ready, asked in (("aw", axi.awready, asked_address), ("w", axi.wready, asked_data)):
        idle = _waited(p, f"{name}_idle", (asked == 0) & ~ready, 2)
        p.claim(f"{name} is ready soon", idle <= 1)
    p.reached(
        "data came before the address", p.before((words != 0) & (addresses == 0)) & (addresses != 0)
    )
    p.reached("a write that was refused", axi.bvalid & (axi.bresp == Response.SLVERR))
    p.reached(
        "a second write waits for the first answer",
        axi.bvalid & (asked_address == 1) & (asked_data == 1),
    )
    answers = inside.signal("answers")
    for name, asked, count, ready in (
        ("has_address", asked_address, addresses, axi.awready),
        ("has_data", asked_data, words, axi.wready),
    ):
        has = inside.signal(name)
        p.invariant(f"{name} counts", asked == has)
        p.invariant(f"{name} and what is answered", count == asked + answers + axi.bvalid)
        p.invariant(f"{name} or ready", ~(has & ready))
    p.invariant("an answer is made for a write", answers == was_asked)
    p.invariant("one answer at a time", ~(answers & (axi.bvalid | inside.signal("has_address")
                                                     | inside.signal("has_data"))))  # fmt: skip


def reads(p: Property) -> None:
    """State how reads are carried out and answered."""
    block = AxiLitePort()
    inside = p.add("port", block)
    axi, bus = block.axi, block.bus
    # What was read stays until the next word is read.
    p.assume(p.before(bus.read) | (bus.read_data == p.before(bus.read_data)) | (p.age(1) == 0))
    p.assume(~bus.read_done | bus.read)
    offers_stay(p, "r", axi.rvalid, axi.rready, axi.rdata, axi.rresp)
    takes, answered, done = axi.arvalid & axi.arready, axi.rvalid & axi.rready, bus.read_done
    pending = _pending(p, "pending", takes, answered)
    asked = _pending(p, "asked", takes, done)
    p.claim("a word is read for a request, once", ~bus.read | (asked == 1))
    p.claim("an answer has a word that was read", ~axi.rvalid | (pending > asked))
    address = _latest(p, "address", takes, axi.araddr[2:])
    p.claim("the word of the address that came", ~bus.read | (bus.read_address == address))
    p.claim(
        "it is asked for until it is there",
        ~p.before(bus.read & ~bus.read_done) | bus.read,
    )
    word = _latest(p, "word", p.before(done), bus.read_data)
    error = _latest(p, "error", done, bus.read_error)
    p.claim("the answer is the word", ~axi.rvalid | p.before(done) | (axi.rdata == word))
    p.claim("an answer follows the word at once", ~p.before(done) | axi.rvalid)
    p.claim("the answer tells what the registers said",
            ~axi.rvalid | (axi.rresp == Mux(error, Response.SLVERR, Response.OKAY)))  # fmt: skip
    is_idle = (pending != 0) & ~axi.rvalid & ~bus.read
    p.claim("a request is passed on in time", _waited(p, "idle", is_idle, 2) == 0)
    p.claim("ar is ready soon", _waited(p, "ar_idle", (asked == 0) & ~axi.arready, 2) <= 1)
    p.reached("a second request waits for the first answer", axi.rvalid & (asked == 1))
    p.reached("a word that comes late", done & p.before(p.before(bus.read)))
    has = inside.signal("has_read_address")
    p.invariant("requests", asked == has)
    p.invariant("answers", pending == asked + axi.rvalid)
    p.invariant("has one or is ready", ~(has & axi.arready))


MODULE = "extremum.hdl.axi.lite"
PROOFS = (
    Proof(
        "lite-writes", "hdl/axi/lite.py",
        "Each write on AXI4-Lite is carried out once, with its own address, data and strobes, in "
        "whichever order they come, and answered once; answers stay until they are taken.",
        writes, depth=5, search=12,
        faults=(
            Fault("an answer overtakes the one before it", MODULE,
                  "has_data & (axi.bready | ~axi.bvalid)", "has_data"),
            Fault("data are not waited for", MODULE, "has_address & has_data", "has_address"),
            Fault("a write does not wait", MODULE, " & ~bus.write_waits", ""),
            Fault("the answer goes before it is taken", MODULE,
                  "with m.Elif(axi.bready):", "with m.Else():"),
        ),
        quick=True,
    ),
    Proof(
        "lite-reads", "hdl/axi/lite.py",
        "Each read on AXI4-Lite is carried out once, of its own address, and answered once with "
        "the word that the registers gave; answers stay until they are taken.",
        reads, depth=4, search=10,
        faults=(
            Fault("the next read begins before the answer is taken", MODULE,
                  "has_address & ~axi.rvalid", "has_address"),
            Fault("a second address is taken", MODULE,
                  "axi.arready.eq(~following)", "axi.arready.eq(1)"),
        ),
        quick=True,
    ),
)  # fmt: skip

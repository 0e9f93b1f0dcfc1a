"""An AXI block in Amaranth's simulator, whose ports are set, and looked at, clock by clock."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from amaranth.sim import Simulator

from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.axi.register_map import WORD_BYTES
from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, port_widths

ASKS, ANSWERS = ("s_axil_aw", "s_axil_w", "s_axil_ar"), ("s_axil_b", "s_axil_r")
LONGEST = 500
"""Clocks after which an answer no longer comes."""


class ClockedBlock:
    """The ports of a block.

    An offer is taken back in the clock behind the one in which it was accepted; an output stream
    gives in every clock in which ``ready`` says so.

    Parameters
    ----------
    context
        The simulator's.
    block
        The block.

    Attributes
    ----------
    look
        Is called in every clock before its rising edge, when all ports have their levels. It may
        offer something, too.
    ready
        Is asked in every clock whether an output stream, or the side that answers AXI4-Lite, is
        ready; it is given the channel's name.
    accepted
        How many offers were accepted, by channel.
    given
        What came, by channel: the payloads of streams and answers.
    """

    def __init__(self, context: Any, block: AxiBlock):
        self._context, self._block = context, block
        self.look: Callable[[], None] = lambda: None
        self.ready: Callable[[str], bool] = lambda _channel: True
        self.accepted: Counter[str] = Counter()
        self.given: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
        widths = port_widths(block.config)
        self._sends = {f"{name}_t": ("data", "keep", "last") for name in (VALUES, INDICES)
                       if widths[name]}  # fmt: skip
        self._sends |= {"s_axil_b": ("resp",), "s_axil_r": ("data", "resp")}
        self._takes = [f"{INPUT}_t", *ASKS]

    def level(self, name: str) -> int:
        """Return the level of a port."""
        return self._context.get(getattr(self._block, name))

    def put(self, **ports: int) -> None:
        """Set ports."""
        for name, level in ports.items():
            self._context.set(getattr(self._block, name), level)

    def offer(self, channel: str, **payload: int) -> None:
        """Offer a payload on a channel on which nothing is offered."""
        assert not self.level(f"{channel}valid")
        self.put(**{f"{channel}{name}": level for name, level in payload.items()})
        self.put(**{f"{channel}valid": 1})

    async def clock(self) -> None:
        """Let a clock pass."""
        for channel in self._sends:
            self.put(**{f"{channel}ready": int(self.ready(channel))})
        self.look()
        moving = {
            channel for channel in (*self._sends, *self._takes)
            if self.level(f"{channel}valid") and self.level(f"{channel}ready")
        }  # fmt: skip
        for channel in moving & self._sends.keys():
            payload = {name: self.level(f"{channel}{name}") for name in self._sends[channel]}
            self.given[channel].append(payload)
        for level in (1, 0):
            self.put(aclk=level)
            await self._context.delay(1e-9)
        for channel in moving & set(self._takes):
            self.accepted[channel] += 1
            self.put(**{f"{channel}valid": 0})

    async def reset(self) -> None:
        """Reset the block."""
        self.put(aresetn=0)
        for _ in range(2):
            await self.clock()
        self.put(aresetn=1)
        for _ in range(4):
            await self.clock()

    def ask(self, address: int) -> None:
        """Ask for a word."""
        self.offer("s_axil_ar", addr=address)

    def tell(self, address: int, word: int) -> None:
        """Offer a word for an address."""
        self.offer("s_axil_aw", addr=address)
        self.offer("s_axil_w", data=word, strb=(1 << WORD_BYTES) - 1)

    async def until(self, channel: str, count: int) -> None:
        """Let clocks pass until so many payloads have come on a channel."""
        for _ in range(LONGEST):
            if len(self.given[channel]) >= count:
                return
            await self.clock()
        raise AssertionError(f"{channel} has given {len(self.given[channel])}, and no more")

    async def read(self, address: int) -> int:
        """Read a word, which must be answered with OKAY."""
        self.ask(address)
        await self.until("s_axil_r", len(self.given["s_axil_r"]) + 1)
        answer = self.given["s_axil_r"][-1]
        assert not answer["resp"]
        return answer["data"]

    async def write(self, address: int, word: int) -> None:
        """Write a word, which must be answered with OKAY."""
        self.tell(address, word)
        await self.until("s_axil_b", len(self.given["s_axil_b"]) + 1)
        assert not self.given["s_axil_b"][-1]["resp"]


def carry_out(block: AxiBlock, bench: Callable[[Any], Any]) -> None:
    """Run a bench, an async function of the simulator's context, on a block."""
    simulator = Simulator(block)
    simulator.add_testbench(bench)
    simulator.run()

"""The ports of an AXI block, recorded clock by clock while the driver uses them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from extremum.hdl.axi.streams import INDICES, VALUES
from extremum.host.driver.transport import Part
from extremum.tb.mutation.compiled_design import CompiledDesign, Recorder
from extremum.tb.mutation.core_trials import Rest

SINKS = (VALUES, INDICES)
VALIDS = {f"{n}_tvalid": (f"{n}_tdata", f"{n}_tkeep", f"{n}_tlast") for n in SINKS} | {
    "s_axil_rvalid": ("s_axil_rdata", "s_axil_rresp"),
    "s_axil_bvalid": ("s_axil_bresp",),
}
WATCHDOG = 40_000
"""Clocks that a packet or an answer may take: more than the longest job with all its stalls."""


class HungError(AssertionError):
    """The block did not answer."""


class RecordedBlock:
    """A transport of the driver to a block that is recorded clock by clock.

    Parameters
    ----------
    model
        The block.
    rng
        Source of stalls and of garbage.
    mode
        How all agents rest: a mode of :class:`Rest`.
    """

    def __init__(self, model: CompiledDesign, rng: random.Random, mode: int | str) -> None:
        self.recorder = Recorder(model)
        self._rng, self._model = rng, model
        self._rest = {
            name: Rest(rng, mode) for name in ("source", "aw", "w", "b", "ar", "r", *SINKS)
        }
        self.beat_bytes = model.inputs["s_axis_tdata"].width // 8
        self._beats: deque[tuple[int, bool]] = deque()
        self._asked: dict[str, deque[Part]] = {name: deque() for name in SINKS}
        self._parts: dict[str, list[bytes]] = {name: [] for name in SINKS}
        self._holds = False
        self.irq = False
        self.pass_clocks(8, aresetn=0)

    def pass_clocks(self, clocks: int, **values: int) -> None:
        """Let so many clocks pass."""
        for _ in range(clocks):
            self._clock(**values)

    def stand_still(self, clocks: int) -> None:
        """Let so many clocks pass in which no sender offers anything and no sink takes anything."""
        idle = {name: 0 for name in self.recorder.inputs if name.endswith(("valid", "ready"))}
        self.recorder.clock(**idle)
        self.recorder.repeat(clocks - 1)

    def rest(self, mode: int | str, *names: str) -> None:
        """Let agents rest in another way from now on: those named, or all; 100 is always."""
        for name in names or self._rest:
            self._rest[name] = Rest(self._rng, mode)

    def _noise(self, name: str) -> int:
        return self._rng.getrandbits(self._model.inputs[name].width)

    def _clock(self, **lite: int) -> dict[str, int]:
        """Pass a clock; the streams move in it. Return the outputs."""
        self._holds = self._holds or (bool(self._beats) and not self._rest["source"]())
        valid = self._holds and bool(self._beats)
        data, last = self._beats[0] if valid else (self._noise("s_axis_tdata"), True)
        ready = {name: not self._rest[name]() for name in SINKS}
        values = {
            "aresetn": 1, "s_axil_awvalid": 0, "s_axil_wvalid": 0, "s_axil_arvalid": 0,
            "s_axil_bready": not self._rest["b"](), "s_axil_rready": not self._rest["r"](),
            "s_axil_awprot": self._rng.getrandbits(3), "s_axil_arprot": self._rng.getrandbits(3),
            "s_axil_awaddr": self._noise("s_axil_awaddr"), "s_axil_wstrb": 0,
            "s_axil_araddr": self._noise("s_axil_araddr"),
            "s_axil_wdata": self._noise("s_axil_wdata"),
            "s_axis_tvalid": valid, "s_axis_tdata": data, "s_axis_tlast": last,
            "s_axis_tkeep": self._noise("s_axis_tkeep"),
            **{f"{name}_tready": ready[name] for name in SINKS},
        }  # fmt: skip
        values |= lite
        self.values = values
        out = self.recorder.clock(**values)
        if values["aresetn"]:
            if valid and out["s_axis_tready"]:
                self._beats.popleft()
                self._holds = False
            for name in SINKS:
                if ready[name] and out[f"{name}_tvalid"]:
                    self._take(name, out)
            self.irq = bool(out["irq"])
        return out

    def _take(self, name: str, out: dict[str, int]) -> None:
        """Take a beat of a packet; hand the packet over when it is complete."""
        size = self._model.outputs[f"{name}_tdata"].width // 8
        data = out[f"{name}_tdata"].to_bytes(size, "little")
        self._parts[name].append(data[: out[f"{name}_tkeep"].bit_count()])
        if out[f"{name}_tlast"]:
            packet = np.frombuffer(b"".join(self._parts[name]), np.uint8)
            self._parts[name] = []
            if self._asked[name]:
                self._asked[name].popleft()(packet, True)

    def access(self, address: int, word: int | None = None, strobes: int = 15) -> tuple[int, int]:
        """Write a word, or read it if it is None; return the data and the response."""
        sent = {"aw": word is None, "w": word is None, "ar": word is not None}
        held = dict.fromkeys(sent, False)
        answer = "b" if word is not None else "r"
        for _ in range(WATCHDOG):
            for name, done in sent.items():
                held[name] = held[name] or (not done and not self._rest[name]())
            lite: dict[str, int] = {}
            if held["aw"]:
                lite |= {"s_axil_awvalid": 1, "s_axil_awaddr": address}
            if held["w"]:
                lite |= {"s_axil_wvalid": 1, "s_axil_wdata": word or 0, "s_axil_wstrb": strobes}
            if held["ar"]:
                lite |= {"s_axil_arvalid": 1, "s_axil_araddr": address}
            out = self._clock(**lite)
            for name in held:
                if held[name] and out[f"s_axil_{name}ready"]:
                    sent[name], held[name] = True, False
            if out[f"s_axil_{answer}valid"] and self.values[f"s_axil_{answer}ready"]:
                return out["s_axil_rdata"], out[f"s_axil_{answer}resp"]
        raise HungError(f"no answer at address {address:#x}")

    def overlap(
        self, accesses: Sequence[tuple[int, int | None, int]], stop: int = WATCHDOG
    ) -> None:
        """Access registers without waiting for answers.

        Parameters
        ----------
        accesses
            The address, the word or None for a read, and the strobes of each. Reads and writes
            begin in their order, and do not wait for each other.
        stop
            Clocks behind which the master stops in the middle; a reset must follow.
        """
        writes = [each for each in accesses if each[1] is not None]
        asked = {
            "aw": deque({"s_axil_awaddr": address} for address, _, _ in writes),
            "w": deque({"s_axil_wdata": w or 0, "s_axil_wstrb": s} for _, w, s in writes),
            "ar": deque({"s_axil_araddr": a} for a, word, _ in accesses if word is None),
        }
        waiting = {"b": len(writes), "r": len(accesses) - len(writes)}
        held = dict.fromkeys(asked, False)
        for _ in range(stop):
            lite: dict[str, int] = {}
            for name, queue in asked.items():
                held[name] = bool(queue) and (held[name] or not self._rest[name]())
                if held[name]:
                    lite |= {f"s_axil_{name}valid": 1} | queue[0]
            out = self._clock(**lite)
            for name, queue in asked.items():
                if held[name] and out[f"s_axil_{name}ready"]:
                    queue.popleft()
                    held[name] = False
            for name in waiting:
                waiting[name] -= out[f"s_axil_{name}valid"] & self.values[f"s_axil_{name}ready"]
            if not any(waiting.values()):
                return
        if stop == WATCHDOG:
            raise HungError("some of the accesses have no answer")

    def read(self, address: int) -> int:
        """Do as :meth:`extremum.host.driver.transport.Transport.read`."""
        return self.access(address)[0]

    def write(self, address: int, word: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.write`."""
        self.access(address, word)

    def send(self, pieces: Iterable[np.ndarray], size: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.send`."""
        data = b"".join(np.ascontiguousarray(piece).tobytes() for piece in pieces)
        self.send_beats(data)

    def send_beats(self, data: bytes) -> None:
        """Send a packet of whole beats."""
        step = self.beat_bytes
        for place in range(0, len(data), step):
            word = int.from_bytes(data[place : place + step], "little")
            self._beats.append((word, place + step >= len(data)))

    def receive(self, stream: str, size: int, take: Part) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.receive`."""
        self._asked[stream].append(take)

    def wait(self) -> bool:
        """Do as :meth:`extremum.host.driver.transport.Transport.wait`."""
        waiting = self._awaited()
        for _ in range(WATCHDOG):
            if not waiting and not self._beats:
                return False
            self._clock()
            if self.irq or self._awaited() < waiting:
                return self.irq
        raise HungError("no packet came" if waiting else "not all beats were taken")

    def _awaited(self) -> int:
        """Return how many packets are asked for that have not come."""
        return sum(map(len, self._asked.values()))

    def forget(self) -> None:
        """Forget what is sent and asked for."""
        self._beats.clear()
        self._holds = False
        for name in SINKS:
            self._asked[name].clear()
            self._parts[name] = []

"""Bench of the AXI block's registers: each as the register map describes it, at any moment."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register import Access
from extremum.host.driver.words import job_words
from extremum.tb.axi.environment import LONGEST, OKAY, SLVERR, Environment, packets
from extremum.tb.bench import core
from extremum.tb.sequences import jobs

ALL = range(0, 1 << regs.ADDRESS_BITS, regs.WORD_BYTES)


@cocotb.test()
async def every_address(dut: Any) -> None:
    """Constants read as described, and what the map does not have is answered with SLVERR."""
    block = await Environment.started(dut)
    known = {register.address: register for register in regs.register_map(core())}
    for address in ALL:
        register = known.get(address)
        word, response = await block.read_any(address)
        assert response == (OKAY if register and register.is_readable else SLVERR), hex(address)
        if register is None or not register.is_writable:
            assert await block.write(address, random.getrandbits(32)) == SLVERR, hex(address)
        if register and register.is_readable and address != regs.STATUS:
            assert word == register.reset, register
    assert await block.field("STATUS", "queue_free") == regs.command_queue_depth(core())
    assert await block.field("IRQ_STATUS", "error") == 0


def _job_addresses() -> list[int]:
    """Return the addresses of the registers that are written for a job."""
    return [regs.command_address(regs.command_number(name)) for name in regs.written_bits(core())]


@cocotb.test()
async def parts_of_a_word(dut: Any) -> None:
    """A command is a whole word: a part of one is refused, and changes nothing."""
    block = await Environment.started(dut)
    source = random.Random(3)
    (pair,) = jobs(random.Random(16), core(), 1)
    await block.configure(job_words(pair[0]))
    addresses = [*_job_addresses(), regs.command_address(regs.START_COMMAND)]
    for _ in range(60):
        first, count = source.choice([(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (2, 2), (1, 3)])
        address = source.choice(addresses) + first
        answer: Any = await block.lite.write(address, source.randbytes(count))
        assert int(answer.resp) == SLVERR
    await block.until("STATUS", "busy", 0)
    await block.carry_out([pair])
    assert await block.field("JOBS") == 1


@cocotb.test()
async def flags(dut: Any) -> None:
    """Only the enabled events raise the interrupt; writing a 1 clears a flag, a 0 leaves it."""
    block = await Environment.started(dut)
    fields = next(r for r in regs.register_map(core()) if r.name == "IRQ_STATUS").fields
    assert all(field.access is Access.CLEAR for field in fields)
    (pair,) = jobs(random.Random(1), core(), 1)
    assert await block.write(regs.IRQ_ENABLE, 0b11) == OKAY
    assert await block.read(regs.IRQ_ENABLE) == 0b11
    assert not int(dut.irq.value)
    await block.carry_out([pair])
    assert int(dut.irq.value)
    for word, after in ((0b10, 1), (0b00, 1), (0b01, 0)):
        assert await block.write(regs.IRQ_STATUS, word) == OKAY
        assert await block.field("IRQ_STATUS", "done") == after
        assert int(dut.irq.value) == after
    assert await block.write(regs.IRQ_ENABLE, 0b10) == OKAY
    await block.carry_out([pair])
    assert await block.field("IRQ_STATUS", "done") == 1
    assert not int(dut.irq.value)
    # The event that is enabled.
    await block.start(pair[0])
    given, _ = packets(*pair)
    await block.send(given + given)
    while not int(dut.irq.value):
        await FallingEdge(dut.aclk)
    assert await block.field("IRQ_STATUS", "error") == 1
    for word, after in ((0b01, 1), (0b00, 1), (0b10, 0)):
        assert await block.write(regs.IRQ_STATUS, word) == OKAY
        assert await block.field("IRQ_STATUS", "error") == after
        assert int(dut.irq.value) == after


@cocotb.test()
async def idle(dut: Any) -> None:
    """The block is idle when all of a job has left it, and tells so as long as that lasts."""
    block = await Environment.started(dut)
    assert await block.write(regs.IRQ_ENABLE, regs.IDLE) == OKAY
    await block.clocks(2)
    assert int(dut.irq.value)
    for pair in jobs(random.Random(5), core(), 3):
        await block.start(pair[0])
        assert await block.write(regs.IRQ_STATUS, regs.IDLE) == OKAY
        for _ in range(100):
            await FallingEdge(dut.aclk)
            assert not int(dut.irq.value), "a job waits for its packet"
        given, _ = packets(*pair)
        await block.send(given)
        for _ in range(LONGEST):
            await FallingEdge(dut.aclk)
            if int(dut.irq.value):
                break
        assert int(dut.irq.value)
        offered = [getattr(dut, f"{name}_tvalid").value for name in block.sinks]
        assert not any(map(int, offered)), "a result has not been taken"
        assert await block.field("STATUS", "busy") == 0
        assert await block.write(regs.IRQ_STATUS, regs.IDLE) == OKAY
        assert await block.field("IRQ_STATUS", "idle") == 1


@cocotb.test()
async def counters(dut: Any) -> None:
    """They stand still while the block is idle, and begin again at zero when they are cleared."""
    block = await Environment.started(dut)
    await block.carry_out(list(jobs(random.Random(2), core(), 3)))
    names = [name for name, _ in regs.COUNTERS]
    before = [await block.field(name) for name in names]
    assert before == [await block.field(name) for name in names]
    assert before[0] > before[1] > 0
    assert await block.write(regs.CONTROL, 0b10) == OKAY
    await block.clocks(20)
    assert [await block.field(name) for name in names] == [0] * len(names)


@cocotb.test()
async def any_moment_of_a_job(dut: Any) -> None:
    """Reads and writes while jobs run disturb neither them nor each other."""
    block = await Environment.started(dut)
    block.stall(40, 40, 8)
    pairs = list(jobs(random.Random(12), core(), 10))
    known = {register.address: register for register in regs.register_map(core())}
    stop = False

    async def disturb() -> None:
        source = random.Random(4)
        while not stop:
            address = source.choice(ALL)
            register = known.get(address)
            if source.random() < 0.2 and not (register and register.is_writable):
                assert await block.write(address, source.getrandbits(32)) == SLVERR
                continue
            word, response = await block.read_any(address)
            assert response == (OKAY if register and register.is_readable else SLVERR)
            if register and response == OKAY and address not in changing:
                assert word == register.reset, register

    changing = {
        regs.STATUS, regs.IRQ_STATUS,
        *(register.address for register in known.values()
          if regs.COUNTER_BASE <= register.address < regs.COMMAND_BASE),
    }  # fmt: skip
    reader = cocotb.start_soon(disturb())
    await block.carry_out(pairs)
    stop = True
    await reader


@cocotb.test()
async def address_and_data_in_any_order(dut: Any) -> None:
    """Either may come first, by any number of clocks, and the response may wait."""
    block = await Environment.started(dut)
    source = random.Random(9)
    address, enables = regs.IRQ_ENABLE, (1 << len(regs.EVENTS)) - 1
    await block.clocks(2)
    axi = {name: getattr(dut, f"s_axil_{name}") for name in
           ("awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bvalid",
            "bready", "bresp")}  # fmt: skip
    for _ in range(40):
        word = source.getrandbits(32)
        waits = {"aw": source.randrange(6), "w": source.randrange(6)}
        late = source.randrange(5)
        axi["awaddr"].value, axi["wdata"].value, axi["wstrb"].value = address, word, 0b1111
        done: set[str] = set()
        clock, is_answered = 0, False
        while not is_answered:
            await FallingEdge(dut.aclk)
            if int(axi["bvalid"].value):
                assert done == {"aw", "w"}
                late -= 1
                is_answered = late < 0
                assert int(axi["bresp"].value) == OKAY
            axi["bready"].value = int(is_answered)
            # What is offered and ready in this clock is taken at the coming edge.
            for channel, wait in waits.items():
                offers = clock >= wait and channel not in done
                axi[f"{channel}valid"].value = int(offers)
                if offers and int(axi[f"{channel}ready"].value):
                    done.add(channel)
            clock += 1
            assert clock < 100
        await FallingEdge(dut.aclk)
        axi["bready"].value = 0
        assert await block.read(address) == word & enables


@cocotb.test()
async def a_job_keeps_its_registers(dut: Any) -> None:
    """A job that is started again needs no register written; only changes are written."""
    block = await Environment.started(dut)
    (job, x), (other, y) = jobs(random.Random(15), core(), 2)
    given, expected = packets(job, x)
    await block.start(job)
    for _ in range(3):
        await block.command(regs.START_COMMAND, 0)
    for _ in range(4):
        await block.send(given)
        await block.expect(expected)
    changed = sum(word != job_words(job)[address] for address, word in job_words(other).items())
    assert changed < len(job_words(job))
    await block.carry_out([(other, y)])

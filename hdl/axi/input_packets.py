"""The packets on ``s_axis``: each belongs to a job, and must be as long as the job needs."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.ports import intake_layout


class InputPackets(wiring.Component):
    """Lets the beats of each job's packet through to the core, and checks where TLAST is.

    How many beats a job takes is known to the core alone, which tells when a job has all of them.
    If TLAST comes early, beats are made up in the place of the missing ones, so that the job ends;
    its results mean nothing. If TLAST is late, the beats behind the job's last are dropped. Either
    way the next packet belongs to the next job.

    Latency: 0 clocks. Throughput: one beat per clock, also from one packet to the next.

    Members
    -------
    intake : In(intake_layout())
        What the core tells of its input: which job the beats belong to.
    drop : In(1)
        The job behind those under way was refused, and its packet is to be dropped. No other job
        begins until that is done.
    dropped : Out(1)
        The packet has been dropped, in the clock before.
    i_valid, i_last, i_ready
        The stream from ``s_axis``, without its data, which go to the core as they are.
    o_valid, o_ready
        The stream to the core.
    refused : Out(1)
        The packet of a refused job begins to be dropped: all jobs before it have their beats.
    early, late : Out(1)
        A job has ended in the clock before: beats were made up for it; TLAST has not come yet.
    busy : Out(1)
        Beats are dropped, or will be in the next clock.
    """

    intake: data.View
    drop: Signal
    dropped: Signal
    i_valid: Signal
    i_last: Signal
    i_ready: Signal
    o_valid: Signal
    o_ready: Signal
    refused: Signal
    early: Signal
    late: Signal
    busy: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "intake": In(intake_layout()),
                "drop": In(1),
                "dropped": Out(1),
                "i_valid": In(1),
                "i_last": In(1),
                "i_ready": Out(1),
                "o_valid": Out(1),
                "o_ready": In(1),
                "refused": Out(1),
                "early": Out(1),
                "late": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # TLAST of the job whose slots enter has come. In the clock in which ``ended`` is told, the
        # flag is still that of the job which has ended.
        is_over = Signal(name="is_over")
        was_filled, drops, is_refused = (
            Signal(name=name) for name in ("was_filled", "drops", "is_refused")
        )
        ended = self.intake.ended
        fills = is_over & ~ended
        passes = Signal(name="passes")
        dropped_last = drops & self.i_valid & self.i_last
        m.d.comb += [
            passes.eq(~drops & ~(ended ^ is_over)),
            self.o_valid.eq((passes & self.i_valid) | fills),
            self.i_ready.eq((passes & self.o_ready) | drops),
            self.early.eq(ended & was_filled),
            self.late.eq(ended & ~is_over),
            self.refused.eq(self.drop & ~self.dropped & ~drops & ~self.intake.active & ~ended),
            self.busy.eq(drops | self.late),
        ]
        m.d.sync += [
            is_over.eq(fills | (passes & self.i_valid & self.i_last & self.o_ready)),
            was_filled.eq((was_filled & ~ended) | (fills & self.o_ready)),
            drops.eq((drops & ~dropped_last) | self.late | self.refused),
            is_refused.eq((is_refused & ~dropped_last) | self.refused),
            self.dropped.eq(dropped_last & is_refused),
        ]
        return m

"""A core of one operator with another module around it, which does something wrong."""

from extremum.host import cache

PORTS = """
module extremum_core (
    input clk, input rst, input i__valid, input [7:0] i__payload, output i__ready,
    output o__valid, output [32:0] o__payload, input o__ready
);
"""
"""The head of the module around the core ``endless1``, which is called ``sound_core`` within it."""


def wrap_core(monkeypatch, body):
    """Put a module around each core that is generated; ``body`` follows its ports."""
    sound = cache.verilog

    def verilog(*arguments, **options):
        text = sound(*arguments, **options).replace("module extremum_core(", "module sound_core(")
        assert "module sound_core(" in text
        return text + PORTS + body

    monkeypatch.setattr(cache, "verilog", verilog)

"""Code coverage of the generated Verilog, by Verilator, told at the lines of its Amaranth source.

Run it with ``python -m extremum.tb.code_coverage``, or ``make coverage``.
"""

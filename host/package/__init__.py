"""The package that `extremum verilog` writes: a block that drops into somebody else's system."""

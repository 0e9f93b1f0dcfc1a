"""Area and clock of a core on an FPGA: synthesis, placement and routing, and what they report."""

"""Benches of the AXI block, driven by the masters, sources and sinks of cocotbext-axi."""

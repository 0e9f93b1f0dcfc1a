"""What runs inside a simulator under cocotb: sources, sinks, monitors and scoreboards."""

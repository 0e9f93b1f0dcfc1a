"""The benches that run inside a simulator under cocotb, with their sequences and scoreboard."""

"""Verification: the benches that run under cocotb, the campaigns, the proofs, and their report."""

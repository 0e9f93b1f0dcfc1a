"""Faults of the hardware."""

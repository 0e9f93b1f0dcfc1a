"""Proof of the plans by exhaustion: the registers of all small operators say what is asked for."""

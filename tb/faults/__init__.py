"""Single-event upsets: what becomes of a job when one flip-flop changes in a simulated block.

``python -m extremum.tb.faults`` runs the benches and records what came of each: docs/faults.md.
"""

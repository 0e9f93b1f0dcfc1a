"""Fuzzing of the software: whatever it is given, it refuses or answers, and nothing else.

``target`` says what a target is, and ``targets`` lists them all; the other modules declare them.
``python -m extremum.tb.fuzz`` runs each in a process of its own: docs/faults.md.
"""

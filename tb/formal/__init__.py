"""Proofs about the gateware: what each of its blocks does, for all inputs.

A proof holds for any length of time, unless it says for how many clocks.

:mod:`extremum.tb.formal.property` is the language in which a property is stated,
:mod:`extremum.tb.formal.proof` says what belongs to a proof, and the proofs themselves are in
``proofs``, a file for each subject. ``docs/formal.md`` tells what is proved and what is not.
"""

"""The random regression: cases drawn from seeds, run on any simulation, compared, and counted.

Read :mod:`extremum.tb.regression.case` first, which says what a case is; then ``draw``, which makes
one of a seed, and ``run``, which carries it out.
"""

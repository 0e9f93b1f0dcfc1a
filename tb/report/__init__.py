"""The report on verification: what the targets have left in ``docs/evidence``, for readers.

``make report`` rewrites the parts of ``docs/verification.md`` that are between markers, and writes
a page with plots. It runs no test: it tells what the files say, and which of them are missing.
"""

"""The C driver held against the Python plan, on random operators and on anything at all.

It works in a checkout alone, since it reads the header in ``drivers/c``.
"""

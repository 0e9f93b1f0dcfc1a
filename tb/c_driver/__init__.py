"""The C driver held against the Python plan, on random operators and on anything at all."""

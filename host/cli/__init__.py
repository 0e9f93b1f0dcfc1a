"""The command line ``extremum``: ``main`` is its entry point, ``commands`` holds its commands."""

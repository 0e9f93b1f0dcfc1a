"""The Python driver of the AXI block.

``words`` tells what the registers hold for a job, ``packets`` how its beats and results are bytes;
``block`` is the driver, and ``transport`` what it needs of the world. ``dma`` is a transport for
boards; the simulations of :mod:`extremum.host.simulation` are others.
"""

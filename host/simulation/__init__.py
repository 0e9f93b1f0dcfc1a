"""The backends: a core in a simulator that takes jobs and beats, and gives results.

``backend`` is the contract that all of them keep. ``native`` compiles the core to a shared library;
``cocotb_simulator`` runs it under cocotb in a process of its own, where ``server`` and ``agents``
drive its ports.
"""

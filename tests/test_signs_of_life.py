"""A simulation in a process of its own reports often enough not to be given up, however slow."""

from extremum.host.simulation import agents
from extremum.host.simulation.cocotb_link import SILENCE_SECONDS


def test_a_slow_simulator_gives_signs_of_life(monkeypatch):
    now = 100.0
    monkeypatch.setattr(agents.time, "monotonic", lambda: now)
    pace = agents.Pace()
    reported = []
    for clock in range(1, 60):
        now += 1.0
        if pace.is_due(clock):
            reported.append(clock)
    assert reported == [10, 20, 30, 40, 50]
    assert 10 * agents.PROGRESS_SECONDS <= SILENCE_SECONDS


def test_a_fast_simulator_reports_by_its_clocks(monkeypatch):
    monkeypatch.setattr(agents.time, "monotonic", lambda: 100.0)
    pace = agents.Pace()
    assert [clock for clock in range(1, 4000) if pace.is_due(clock)] == [1024, 2048, 3072]

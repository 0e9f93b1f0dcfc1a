"""Figures belong to netlists and sources, and the bench tells when these have changed."""

import argparse
from types import SimpleNamespace

import pytest
from bench_files import bench_modules

from extremum.hdl import ecp5
from extremum.hdl.harness import netlist
from extremum.host.fpga.devices import DEVICES
from extremum.tb.netlists import digest
from extremum.tb.source_digest import digests_of

check, clock_counts, fpga, results_files = bench_modules(
    "check", "clock_counts", "fpga", "results_files"
)
RUN = next(run for run in clock_counts.runs() if run.key == ("volume_peak", 1, "small"))
NETLIST = digest(RUN.config, "none")
CLOCKS = {"workload": "volume_peak", "lanes": 1, "pipelining": "small", "predicted": 589826}


def results(name):
    """Return the published results of a kind."""
    return results_files.read_results(results_files.RESULTS / f"{name}.json")


def outdated(netlist):
    """Return what is outdated in clocks that were counted on a netlist."""
    (figure,) = check.clock_figures("none", [CLOCKS | netlist])
    return list(check.outdated(figure, NETLIST))


def test_clocks_of_the_present_netlist_and_plan():
    assert outdated({"netlist": NETLIST}) == []


@pytest.mark.parametrize("netlist", [{}, {"netlist": "0123456789ab"}])
def test_results_of_other_netlists(netlist):
    """They are told, also if they do not tell of which netlist they are."""
    measured = netlist.get("netlist")
    told = f"volume_peak, 1 lanes, small: measured {measured}, it is {NETLIST} now"
    assert outdated(netlist) == [told]


def test_clocks_that_the_plan_predicts_no_longer():
    told = "volume_peak, 1 lanes, small: predicted 7 clocks, it is 589826 now"
    assert outdated({"netlist": NETLIST, "predicted": 7}) == [told]


def test_figures_of_fpgas_belong_to_netlists_alone():
    (figure,) = check.fpga_figures([{"name": "argmax-int8", "netlist": "0123456789ab"}])
    assert (figure.name, figure.clocks) == ("argmax-int8", None)
    now = figure.digest()
    assert check.outdated_netlists([figure]) == [
        [f"argmax-int8: measured 0123456789ab, it is {now} now"]
    ]
    assert check.outdated_netlists([]) == []


def test_figures_of_fpgas_belong_to_what_is_synthesised(monkeypatch):
    """The part's own memories are in it; the places in the sources are not."""
    (result,) = (each for each in results("fpga") if each["name"] == "pool2x2-int8")
    (figure,) = check.fpga_figures([result])
    measured = figure.digest()
    assert list(check.outdated(figure, measured)) == []
    monkeypatch.setattr("extremum.host.fpga.measure.netlist", lambda *arguments, **named: (
        netlist(*arguments, **named).replace(".py:", ".py:1")))  # fmt: skip
    assert figure.digest() == measured
    monkeypatch.setattr(ecp5, "_register", lambda memory: "NOREG")
    assert figure.digest() != measured


def test_the_digest_of_a_figure_is_that_of_its_device():
    block = next(block for block in fpga.blocks() if block.name == "pool2x2-int8")
    digests = {fpga.netlist_digest(block.config, device) for device in DEVICES.values()}
    assert len(digests) > 1


@pytest.mark.parametrize(
    ("sources", "faults"),
    [
        ({"sources": digests_of(["hdl/select.py", "model"])}, []),
        ({"sources": {"hdl/select.py": "0"}}, ["hdl/select.py has changed since"]),
        ({"sources": {"hdl/gone": "0"}}, ["hdl/gone has changed since"]),
        ({}, ["it is not told of which sources a time is"]),
    ],
)
def test_times_belong_to_sources(sources, faults):
    assert check.outdated_times([sources, sources]) == [faults, faults]


@pytest.mark.parametrize(
    ("faults", "is_present", "told"),
    [
        ([[], []], True, "cycles: 2 of 2 results are of the present sources\n"),
        ([[], ["one", "two"]], False, "cycles: 1 of 2 results are of the present sources\n"),
        ([], False, "cycles: 0 of 0 results are of the present sources\n"),
    ],
)
def test_what_is_outdated_is_told(capsys, faults, is_present, told):
    assert check.tell("cycles", faults) is is_present
    lines = [f"cycles: {line}\n" for each in faults for line in each]
    assert capsys.readouterr() == (told, "".join(lines))


@pytest.mark.parametrize("is_present", [True, False])
def test_the_status_tells_whether_anything_is_outdated(monkeypatch, is_present):
    """The last of the files decides as the first does."""
    monkeypatch.setattr(check.argparse.ArgumentParser, "parse_args", lambda _: SimpleNamespace(
        only=["simulation", "model"]))  # fmt: skip
    monkeypatch.setitem(check.CHECKS, "simulation", lambda _: [[]])
    monkeypatch.setitem(check.CHECKS, "model", lambda _: [[] if is_present else ["changed"]])
    assert check.main() == (0 if is_present else 1)


@pytest.mark.parametrize(
    ("name", "found", "told"),
    [
        ("fpga", [], "are not measured, such as argmax-"),
        ("fpga", lambda found: found[1:], "1 of "),
        ("fpga", lambda found: [*found, {"name": "none"}], "the bench measures no none"),
        ("fpga", {"name": 3}, "fpga.json is not of the form that is known"),
        ("cycles", lambda found: found[1:], "1 of 90 are not measured, such as ("),
        ("block_clocks", [], "90 of 90 are not measured"),
        ("simulation", [], "simulation.json is not of the form that is known"),
        ("simulation", dict.fromkeys(check.PARTS, ()), "0 of 0 results"),
        ("model", [], "it is not told of which sources a time is"),
    ],
)
def test_results_that_are_missing_are_told(monkeypatch, capsys, name, found, told):
    """Nothing is outdated in what was never measured."""
    given = found(results(name)) if callable(found) else found
    monkeypatch.setattr(check.argparse.ArgumentParser, "parse_args", lambda _: SimpleNamespace(
        only=[name]))  # fmt: skip
    monkeypatch.setattr(check, "kept_results", lambda *_: given)
    monkeypatch.setattr(check, "outdated_netlists", lambda figures: [[] for _ in figures])
    assert check.main() == 1
    assert told in "".join(capsys.readouterr())


def test_results_that_cannot_be_read(tmp_path, capsys):
    """Nothing is measured, since the other results of the file would be lost."""
    damaged = tmp_path / "fpga.json"
    damaged.write_text("[{")
    with pytest.raises(SystemExit) as end:
        results_files.kept_results(argparse.ArgumentParser("fpga"), damaged)
    assert end.value.code == 2
    assert f"fpga: error: {damaged} cannot be read" in capsys.readouterr().err
    assert results_files.kept_results(argparse.ArgumentParser(), tmp_path / "none.json") == []


@pytest.mark.parametrize("name", ["fpga", "cycles", "block_clocks"])
def test_every_figure_tells_its_netlist(name):
    assert {len(result["netlist"]) for result in results(name)} == {12}


def test_every_time_tells_its_sources():
    times = [row for part in check.PARTS for row in results("simulation")[part]]
    assert all(result["sources"] for result in (*times, results("model")))


def test_the_results_are_those_of_the_bench():
    """A block whose placement fails has none."""
    runs = [run.key for run in clock_counts.runs()]
    for name in ("cycles", "block_clocks"):
        published = [tuple(result[key] for key in clock_counts.KEY) for result in results(name)]
        assert published == runs
    published = [result["name"] for result in results("fpga")]
    assert published == [block.name for block in fpga.blocks() if block.name in published]

"""Figures belong to netlists and sources, and the bench tells when these have changed."""

from types import SimpleNamespace

import pytest
from bench_files import bench_modules

from extremum.hdl import ecp5
from extremum.hdl.harness import netlist
from extremum.host.fpga.devices import DEVICES
from extremum.tb.evidence import EvidenceError
from extremum.tb.netlists import digest
from extremum.tb.source_digest import digests_of

check, clock_counts, completeness, fpga, results_files = bench_modules(
    "check", "clock_counts", "completeness", "fpga", "results_files"
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
    core = next(core for core in fpga.cores() if core.name == "pool2x2-int8")
    digests = {fpga.netlist_digest(core.config, device) for device in DEVICES.values()}
    assert len(digests) > 1


@pytest.mark.parametrize(
    ("sources", "faults"),
    [
        (digests_of(["hdl/select.py", "model"]), []),
        (digests_of(["hdl/select.py"]), ["it is not told of which model a time is"]),
        ({"model": "0", "hdl/select.py": "0"}, ["model has changed since",
                                                "hdl/select.py has changed since"]),
        (digests_of(["model"]) | {"hdl/select.py": "0", "hdl/gone": "0"},
         ["hdl/select.py has changed since", "hdl/gone has changed since"]),
    ],
)  # fmt: skip
def test_times_belong_to_sources(sources, faults):
    given = [{"sources": sources}] * 2
    assert check.outdated_times(given, ["hdl/select.py", "model"]) == [faults, faults]


@pytest.mark.parametrize("result", [{}, {"sources": {}}])
def test_times_that_tell_no_sources(result):
    assert check.outdated_times([result], ["model"]) == [
        ["it is not told of which model a time is"]
    ]


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
    monkeypatch.setattr(check, "require_complete", lambda *_: None)
    monkeypatch.setitem(check.CHECKS, "simulation", lambda _: [[]])
    monkeypatch.setitem(check.CHECKS, "model", lambda _: [[] if is_present else ["changed"]])
    assert check.main() == (0 if is_present else 1)


def run_check(monkeypatch, name, found):
    """Run the check of a file that has some results, but for what takes long: digests."""
    monkeypatch.setattr(check.argparse.ArgumentParser, "parse_args", lambda _: SimpleNamespace(
        only=[name]))  # fmt: skip
    monkeypatch.setattr(check, "read_results", lambda _: found)
    monkeypatch.setattr(check, "outdated_netlists", lambda figures: [[] for _ in figures])
    monkeypatch.setattr(check, "changed_since", lambda sources: [])
    return check.main()


SOURCES = {"sources": {}}


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("fpga", lambda found: [], "are not measured, such as argmax-"),
        ("fpga", lambda found: None, "are not measured, such as argmax-"),
        ("fpga", lambda found: found[1:], "1 of "),
        ("fpga", lambda found: [*found, {"name": "none"}], "the bench measures no none"),
        ("fpga", lambda found: [*found, found[0]], "there are several records of argmax-"),
        ("fpga", lambda found: {"name": 3}, "is not of the form that is known"),
        ("cycles", lambda found: found[1:], "1 of 90 are not measured, such as resnet50_"),
        ("block_clocks", lambda found: [], "90 of 90 are not measured"),
        ("simulation", lambda found: [], "4 of 4 are not measured, such as 1, small"),
        ("simulation", lambda found: [1], "is not of the form that is known"),
        ("simulation", lambda found: found | {"rates": found["rates"][:1]},
         "rates: 2 of 3 are not measured, such as 4"),
        ("simulation", lambda found: found | {"workloads": found["workloads"][:1]},
         "workloads: 14 of 15 are not measured, such as vgg16_pool1"),
        ("simulation", lambda found: found | {"memory": []}, "memory: 4 of 4 are not measured"),
        ("simulation", lambda found: found | {"rates": [row | SOURCES for row in found["rates"]]},
         "it is not told of which hdl a time is"),
        ("simulation", lambda found: found | {"rates": [row | {"sources": 3}
                                                        for row in found["rates"]]},
         "is not of the form that is known"),
        ("model", lambda found: [], "6 of 6 are not measured"),
        ("model", lambda found: found | SOURCES, "it is not told of which model a time is"),
        ("model", lambda found: found | {"sources": 3}, "is not of the form that is known"),
        ("model", lambda found: found | {"poolings": found["poolings"][1:]}, "poolings: 1 of 17"),
        ("model", lambda found: found | {"small_calls": []}, "small_calls: 5 of 5"),
        ("model", lambda found: found | {"memory": {}}, "memory: 2 of 2"),
    ],
)  # fmt: skip
def test_results_that_are_missing_are_told(monkeypatch, capsys, name, change, told):
    """Nothing is outdated in what was never measured."""
    assert run_check(monkeypatch, name, change(results(name))) == 1
    output = capsys.readouterr()
    assert told in output.err


@pytest.mark.parametrize("name", list(check.CHECKS))
def test_the_published_results_are_complete(name):
    completeness.require_complete(name, results(name))


def test_results_that_cannot_be_read(tmp_path):
    """Nothing is measured, since the other results of the file would be lost."""
    damaged = tmp_path / "fpga.json"
    damaged.write_text("[{")
    with pytest.raises(EvidenceError, match=f"^{damaged} cannot be read, and is left as it is"):
        results_files.read_results(damaged)
    assert results_files.read_results(tmp_path / "none.json") == []


@pytest.mark.parametrize("name", ["fpga", "cycles", "block_clocks"])
def test_every_figure_tells_its_netlist(name):
    assert {len(result["netlist"]) for result in results(name)} == {12}


def test_every_time_tells_its_sources():
    parts = completeness.PARTS["simulation"]()
    times = [row for part in parts for row in results("simulation")[part]]
    assert all(result["sources"] for result in (*times, results("model")))


def test_the_results_are_those_of_the_bench():
    """They are in its order, too."""
    runs = [run.key for run in clock_counts.runs()]
    for name in ("cycles", "block_clocks"):
        published = [tuple(result[key] for key in clock_counts.KEY) for result in results(name)]
        assert published == runs
    published = [result["name"] for result in results("fpga")]
    assert published == [core.name for core in fpga.cores()]

"""Cores drawn at random for the regression: each number is one core and its cases, always."""

import itertools
import json
import random

import pytest

from extremum.hdl.config import PIPELINING
from extremum.host.plan import plan
from extremum.model import DataType
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.draw import drawn_case
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.random_cores import LANES, OPERATOR_SETS, random_target, seeds_of
from extremum.tb.regression.run import Rig, Uncounted, run_case
from extremum.tb.regression.shrink import failure

pytest_plugins = ["few_cases"]


@pytest.mark.parametrize("number", [0, 1, 41, 48])
def test_a_number_is_the_same_core_and_the_same_cases_always(number, few):
    target = random_target(number)
    assert target_named(target.name) == random_target(number) == target
    first, *others = seeds_of(number)
    random.seed(1)
    case = drawn_case(first)
    assert drawn_case(first) == case == Case.from_json(case.to_json())
    assert case.target == target.name
    assert {drawn_case(seed).target for seed in others} == {target.name}
    assert all(drawn_case(seed) != case for seed in others)
    assert seeds_of(number + 1)[0] == others[-1] - 1


def test_cores_drawn_at_random_are_unlike_each_other():
    """Every setting, bus, number of lanes, operator and kind of fixed register is drawn."""
    targets = [random_target(number) for number in range(400)]
    configs = [target.config for target in targets]
    assert len(set(configs)) == len(configs)
    assert {target.bus for target in targets} == {"none", "axi"}
    assert {config.pipelining for config in configs} == set(PIPELINING)
    assert {data_type for config in configs for data_type in config.data_types} == set(DataType)
    assert {config.lanes for config in configs} == set(LANES)
    assert {config.operators for config in configs} == set(OPERATOR_SETS)
    assert {config.padding for config in configs} == {True, False}
    parts = ("window", "stride", "head")
    windows = [f"{axis}.{part}" for axis in ("height", "width") for part in parts]
    many = [target.config for target in targets if not target.only]
    fixed = {name for config in many for name, _ in config.fixed}
    assert fixed == {"decreasing", "ignore_nan", *windows}


def test_some_cores_drawn_at_random_are_of_one_operator():
    """They slide or reduce, bare and in a block, in every setting; some have a job port."""
    targets = [(each.only[0], each) for each in map(random_target, range(400)) if each.only]
    without = {(name, t.bus, t.config.pipelining) for name, t in targets if not t.has_jobs}
    assert without == set(itertools.product(("pooling", "reduction"), ("none", "axi"), PIPELINING))
    partly = [(name, each.config) for name, each in targets if each.has_jobs]
    assert {name for name, _ in partly} == {"pooling", "reduction"}
    assert any(config.fixed for _, config in partly)
    assert 0.1 < len(partly) / len(targets) < 0.4


def test_a_dataflow_block_drawn_at_random():
    """Two lines of each of its planes lie behind the last windows."""
    target = random_target(48)
    assert target.bus == "axi"
    assert target.only
    assert target.only[0] == "pooling"
    rig = Rig("native")
    figures = [run_case(drawn_case(seed), rig, Uncounted()) for seed in seeds_of(48)[:4]]
    rig.drop(target.name)
    assert all(each.jobs for each in figures)


def test_a_core_without_a_job_port_waits_for_no_job():
    """While it did, windows of padding alone came that belong to the next tensor."""
    target = random_target(5417)
    assert target.only
    assert not target.has_jobs
    item = Item(target.only[0], json.loads(target.only[1]))
    (job,) = plan(item.problem, target.config).jobs
    assert job.schedule.first_element > 0
    case = Case(target.name, [Batch([item], job_stalls=[[99, 100], [1, 0]])])
    with Rig("native") as rig:
        assert failure(case, rig) is None
        rig.drop(target.name)


def test_names_that_are_of_no_random_core():
    other = {"random-0": "axi-random-0", "axi-random-0": "random-0"}[random_target(0).name]
    for name in (other, "random-", "random--1", "random-00", "random-x", "small-random-0"):
        with pytest.raises(ValueError, match="random-NUMBER, not"):
            target_named(name)

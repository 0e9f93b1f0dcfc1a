"""What the target `faults` takes for a failure, on upsets that are made up."""

import pytest

from extremum.tb.faults.upsets import Cure, Effect, Upset, problem_of


def upset(effect, cure, register="queue.valid"):
    return Upset(register, 0, 7, effect, False, cure)


@pytest.mark.parametrize("effect", Effect)
def test_every_upset_must_end(effect):
    assert not problem_of([upset(effect, Cure.SOFT_RESET)], Cure.SOFT_RESET)
    assert "no reset helped" in problem_of([upset(effect, Cure.NOTHING)], Cure.SOFT_RESET)


def test_a_hang_of_the_block_must_end_by_soft_reset():
    assert not problem_of([upset(Effect.WRONG, Cure.RESET)], Cure.SOFT_RESET)
    told = problem_of([upset(Effect.HANGING, Cure.RESET)], Cure.SOFT_RESET)
    assert "these hangs were not ended by a soft reset" in told
    assert not problem_of([upset(Effect.HANGING, Cure.RESET)], Cure.RESET)


def test_only_a_hang_of_the_register_port_may_need_more_than_a_soft_reset():
    """The write that asks for the soft reset has to pass this port."""
    port = upset(Effect.HANGING, Cure.RESET, "lite.has_data")
    assert not problem_of([port], Cure.SOFT_RESET)
    assert problem_of([upset(Effect.HANGING, Cure.RESET, "core.lite.next")], Cure.SOFT_RESET)
    assert problem_of([upset(Effect.HANGING, Cure.NOTHING, "lite.has_data")], Cure.SOFT_RESET)
    assert problem_of([upset(Effect.HANGING, Cure.SOFT_RESET, "lite.has_data")], Cure.RESET)

"""Random operators on random tensors, with and without stalls."""

import pytest
from accelerators import REDUCTIONS, check
from amounts import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import NATIVE_FIRST
from strategies import (
    DIRECTIONS,
    INDEX_TYPES,
    LAYOUTS,
    NAN_MODES,
    axes_of,
    memory_layouts,
    poolings,
    sizes,
    tensors,
)

from extremum.tb.cores import CORES

pytestmark = pytest.mark.parametrize("simulator", NATIVE_FIRST)


def draw_call(data, config):
    """Draw a call of any operator that the contract accepts: function, tensor and options."""
    name = data.draw(st.sampled_from(config.data_types)).dtype.name
    nan = data.draw(st.sampled_from(NAN_MODES))
    if data.draw(st.booleans()):
        shape = data.draw(sizes(most=200))
        x = data.draw(memory_layouts(data.draw(tensors(shape, name))))
        function = data.draw(st.sampled_from(REDUCTIONS))
        options = {"axes": data.draw(axes_of(len(shape))), "nan": nan}
        if function.startswith("arg"):
            options["axis_direction"] = data.draw(st.sampled_from(DIRECTIONS))
            options["index_type"] = data.draw(st.sampled_from(INDEX_TYPES))
        return function, x, options
    shape, options = data.draw(poolings(max_size=7, most_padding=3))
    x = data.draw(memory_layouts(data.draw(tensors(shape, name))))
    options |= {
        "nan": nan,
        "return_indices": True,
        "index_layout": data.draw(st.sampled_from(LAYOUTS)),
        "index_type": data.draw(st.sampled_from(("uint32", "uint64", "int64"))),
    }
    return "max_pooling", x, options


@pytest.mark.parametrize("core", CORES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_random_calls(hardware, simulator, core, data):
    function, x, options = draw_call(data, CORES[core])
    check(hardware(core, simulator), function, x, **options)


@pytest.mark.parametrize("output_stalls", [0, 30, 80])
@pytest.mark.parametrize("input_stalls", [0, 30, 80])
@settings(max_examples=max(1, EXAMPLES // 8))
@given(data=st.data())
def test_random_stalls(simulator, input_stalls, output_stalls, hardware, data):
    stalls = {"input_stalls": input_stalls, "output_stalls": output_stalls, "seed": 3}
    accelerator = hardware("every_type", simulator, **stalls)
    function, x, options = draw_call(data, CORES["every_type"])
    check(accelerator, function, x, **options)

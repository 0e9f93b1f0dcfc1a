"""Random cores and random operators, of which some are wrong, for the comparison of both drivers.

An operator is the arguments of ``Reduction.of`` or ``Pooling.of``, each with a value for every
dimension. It stays small, so that thousands of them are planned in a few seconds; the functions
``huge_...`` draw those of about 2^32 elements, whose plans alone are looked at.
"""

import contextlib
from typing import Any

from extremum.hdl.config import OPERATORS, CoreConfig
from extremum.model import DataType
from extremum.tb.cores import CORES

TYPES = [member.value for member in DataType]
EVERY = len(TYPES)
FUNCTIONS = ["argmax", "argmin", "max", "min"]
DIRECTIONS = ["increasing", "decreasing"]
NAN_MODES = ["propagate", "ignore"]
INDEX_TYPES = ["uint32", "uint64", "int32", "int64"]
LAYOUTS = ["tensor", "plane", "column_major"]


def random_fixed(source, config_arguments):
    """Some fixed registers that the configuration admits."""
    fixed: list[tuple[str, int]] = []
    for _ in range(source.randint(1, 3)):
        axis = source.choice(("depth", "height", "width"))
        pair = source.choice(
            (
                ("groups", source.randint(1, 4)),
                ("fold", source.randint(0, 1)),
                (f"{axis}.window", source.randint(1, 4)),
                (f"{axis}.stride", source.randint(1, 3)),
            )
        )
        with contextlib.suppress(ValueError):
            CoreConfig(**config_arguments, fixed=(*fixed, pair))
            fixed.append(pair)
    return tuple(fixed)


def random_config(source):
    """A core of small limits, so that most poolings exceed some of them."""
    window: Any = tuple(source.choice((1, 2, 3, 3, 4)) for _ in range(3))
    arguments: dict[str, Any] = {
        "data_types": tuple(source.sample(list(DataType), source.choice((1, 2, 4, EVERY, EVERY)))),
        "lanes": source.choice((1, 2, 3, 4, 5, 8, 16)),
        "max_window": source.choice(((1, 1, 1), window, window, *[(3, 7, 7)] * 4)),
        "max_dilation": tuple(source.choice((1, 2, 3, 9, 9)) for _ in range(3)),
        "max_line": source.choice((1, 3, 6, 20, 20, 256, 256)),
        "max_plane": source.choice((1, 5, 30, 200, 200, 3136)),
        "coordinate_width": source.choice((4, 4, 5, 6, 16)),
        "operators": source.choice((OPERATORS, OPERATORS, OPERATORS, OPERATORS[::-1])),
        "index_width": source.choice((32, 32, 32, 32, 9, 6)),
        "padding": source.random() < 0.85,
    }
    if source.random() < 0.25:
        arguments["operators"] = tuple(source.sample(OPERATORS, source.randint(1, 2)))
    if source.random() < 0.1 and "max-pool" in arguments["operators"]:
        arguments["index_width"] = 0
    if source.random() < 0.3:
        arguments["fixed"] = random_fixed(source, arguments)
    return CoreConfig(**arguments)


def random_configs(source, count=300):
    """Return the cores of the tests, and so many random ones."""
    return [*CORES.values(), *(random_config(source) for _ in range(count))]


def random_sizes(source, rank, most):
    """Sizes of few elements, in which long axes occur."""
    sizes, left = [], most
    for _ in range(rank):
        sizes.append(source.randint(1, max(1, min(left, 40 if rank < 3 else 6))))
        left //= sizes[-1]
    source.shuffle(sizes)
    return sizes


def one_wrong(source, arguments, wrong):
    """Give one or two arguments a value that no operator has."""
    for name in source.sample(sorted(wrong), source.choice((1, 1, 2))):
        values = arguments[name]
        value = wrong[name]
        if isinstance(values, list) and isinstance(value, int):
            arguments[name] = list(values)
            arguments[name][source.randrange(len(values))] = value
        else:
            arguments[name] = value
    if len(arguments["sizes"]) > 8:
        # The driver has no room for a ninth size, so it refuses the rank before it sees a zero.
        arguments["sizes"] = [max(1, size) for size in arguments["sizes"]]
    return arguments


def random_type(source, config):
    """A type that the core was built for, as a rule."""
    return (
        source.choice(TYPES) if source.random() < 0.05 else source.choice(config.data_types).value
    )


def random_reduction(source, config):
    """Draw the arguments of a reduction, a fifth of them with one that is wrong."""
    rank = source.randint(1, 8)
    axes = source.sample(range(rank), source.randint(1, rank))
    function = source.choice(FUNCTIONS)
    gives_index = function.startswith("arg")
    arguments = {
        "function": function,
        "sizes": random_sizes(source, rank, 400),
        "data_type": random_type(source, config),
        "axes": [axis - rank if source.random() < 0.3 else axis for axis in axes],
        "axis_direction": source.choice(DIRECTIONS) if gives_index else "increasing",
        "index_type": source.choice(INDEX_TYPES) if gives_index else "uint32",
        "nan": source.choice(NAN_MODES),
    }
    if source.random() < 0.2:
        wrong = {
            "function": "sum",
            "sizes": source.choice((0, 0, [], [2] * 9, [2**16] * 2, [2**31, 2, 1])),
            "data_type": "float64",
            "axes": source.choice((rank, -rank - 1, [], [0, 0], [0] * 9, [0, -rank])),
            "axis_direction": source.choice(("sideways", "decreasing")),
            "index_type": source.choice(("int8", "uint64")),
            "nan": "forget",
        }
        arguments = one_wrong(source, arguments, wrong)
    elif source.random() < 0.02:
        sizes = [2**31 + source.choice((-1, 0, 1))]
        arguments |= {"sizes": sizes, "axes": [0], "function": "argmin", "index_type": "int32"}
        arguments |= {"axis_direction": "increasing"}
    return arguments


def random_line(source, most_size, most_window, padding=True):
    """Size, window, stride, start padding, end padding and dilation of one dimension."""
    size = source.randint(1, most_size)
    start, end = (source.choice((0, 0, 1, source.randint(0, 5))) * padding for _ in range(2))
    if padding and source.random() < 0.03:
        start = source.randint(0, 60)
    if padding and source.random() < 0.03:
        end = source.randint(0, 60)
    padded = size + start + end
    window = source.randint(1, min(padded, most_window))
    most_dilation = (padded - 1) // (window - 1) if window > 1 else 4
    dilation = source.choice((1, source.randint(1, most_dilation), source.randint(1, 2)))
    if source.random() > 0.02:
        dilation = min(dilation, most_dilation)
    stride = source.choice((1, 1, 2, source.randint(1, 4)))
    if source.random() < 0.03:
        stride = source.choice((9, 17, 70_000))
    return size, window, stride, start, end, dilation


def random_pooling(source, config):
    """A pooling that the core can slide, as a rule, and otherwise any."""
    spatial = source.choice((2, 2, 3))
    most_size = (22, 8)[spatial - 2]
    if source.random() < 0.7:
        limits = config.max_window[3 - spatial :]
        padding = config.padding or source.random() < 0.3
        lines = [random_line(source, most_size, most, padding) for most in limits]
    else:
        lines = [random_line(source, most_size, most_size) for _ in range(spatial)]
    if spatial == 3 and (config.max_window[0] == 1 or source.random() < 0.3):
        lines[0] = (lines[0][0], 1, 1, 0, 0, 1)
    size, window, strides, start, end, dilations = map(list, zip(*lines, strict=True))
    outer = [source.randint(1, 3), source.choice((1, 2, 5, 9))]
    if spatial == 3 and source.random() < 0.15:
        # A large plane can be cut in many ways, of which the best is sought.
        outer, size[1:] = [1, 1], [source.randint(9, 60), source.randint(9, 60)]
    gives_index = source.random() < 0.6
    arguments = {
        "sizes": [*outer, *size],
        "data_type": random_type(source, config),
        "window": window,
        "strides": strides,
        "start_padding": start,
        "end_padding": end,
        "dilations": dilations,
        "return_indices": gives_index,
        "index_type": source.choice(("uint32", "uint64", "int64")),
        "index_layout": source.choice(LAYOUTS),
        "nan": source.choice(NAN_MODES),
    }
    if source.random() < 0.1:
        wrong = {
            "sizes": source.choice((0, 2**32 - 1, [2] * 3, [1] * 6, [2] * 9, [])),
            "data_type": "bool",
            "window": source.choice((0, 99, 2**32 - 1)),
            "strides": 0,
            "start_padding": source.choice((2**31, 2**32 - 1)),
            "end_padding": source.choice((2**31, 2**32 - 1)),
            "dilations": source.choice((0, 2**32 - 1)),
            "index_type": source.choice(("int32", "uint8")),
            "index_layout": "diagonal",
            "nan": "",
        }
        arguments = one_wrong(source, arguments, wrong)
    return arguments


def near(source, value):
    """Return a value, or one beside it."""
    return max(1, value + source.choice((-1, 0, 0, 1)))


def split(source, total, parts):
    """Random factors whose product is about a total and not above it."""
    factors = []
    for left in range(parts, 0, -1):
        root = max(1, round(total ** (1 / left)))
        factor = total if left == 1 else min(total, near(source, source.choice((1, root, root))))
        factors.append(max(1, min(factor, 2**32 - 1)))
        total //= factors[-1]
    source.shuffle(factors)
    return factors


def huge_reduction(source, config):
    """Draw the arguments of a reduction of about 2^32 elements."""
    arguments = random_reduction(source, config)
    rank = source.randint(1, 8)
    total = source.choice((2**32 - 1, 2**32, 2**31, 2**31 + 1, 2**30))
    sizes = split(source, total, rank)
    axes = source.sample(range(rank), source.randint(1, rank))
    return arguments | {"sizes": sizes, "axes": axes}


def huge_pooling(source, config):
    """Draw the arguments of a pooling of about 2^32 elements."""
    arguments = random_pooling(source, config)
    spatial = source.choice((2, 3))
    total = source.choice((2**32 - 1, 2**32, 2**31, 2**28))
    padded = split(source, total, 2 + spatial)
    lines = []
    for size in padded[2:]:
        start = source.choice((0, 0, min(3, size - 1), (size - 1) // 3))
        end = source.choice((0, 0, min(3, size - 1 - start), (size - 1 - start) // 2))
        window = source.randint(1, min(size, source.choice((1, 3, 3, 7))))
        most = (size - 1) // (window - 1) if window > 1 else 1
        dilation = source.choice((1, 1, min(2, most), min(most, 50)))
        stride = source.choice((1, 2, 3, 9, size, source.randint(1, size)))
        lines.append((size - start - end, window, stride, start, end, max(1, dilation)))
    if config.coordinate_width == 4 and source.random() < 0.5:
        # A core of few coordinates cuts this line into as many tiles as it has elements, nearly.
        padded = [1, 1]
        lines = [(1, 1, 1, 0, 0, 1), (2**32 - 1, source.randint(1, 8), 1, 0, 0, 1)]
    size, window, strides, start, end, dilations = map(list, zip(*lines, strict=True))
    return arguments | {
        "sizes": [*padded[:2], *size],
        "window": window,
        "strides": strides,
        "start_padding": start,
        "end_padding": end,
        "dilations": dilations,
    }


def huge_configs(source):
    """Cores of the largest limits, and of common ones."""
    everything: dict[str, Any] = {"data_types": tuple(DataType), "max_window": (255, 255, 255)}
    return [
        CoreConfig(tuple(DataType)),
        CoreConfig(tuple(DataType), lanes=64),
        CoreConfig(tuple(DataType), max_window=(1, 1, 8), coordinate_width=4),
        CoreConfig(**everything, lanes=7, coordinate_width=24, max_dilation=(255, 255, 255)),
        CoreConfig(
            **everything,
            lanes=3,
            coordinate_width=24,
            max_dilation=(255, 255, 255),
            max_line=1 << 16,
            max_plane=1 << 24,
        ),
        CoreConfig(**everything, lanes=2, coordinate_width=8, fixed=(("groups", 1 << 20),)),
        *random_configs(source, 20),
    ]

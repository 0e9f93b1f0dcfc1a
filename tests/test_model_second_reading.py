"""The golden model with a second reading of the specification, which shares no code with it.

`tests/test_model_reference.py` compares the model with `model/reference.py`, of the same hand. What
is read in `tests/second_reading.py` was read by another one: see there what makes it independent.
"""

import random
import warnings

import numpy as np
import pytest
import second_reading
from amounts import some
from equal_bits import assert_equal_bits
from second_reading import FLOATS, TYPES, Contest, Line, infinity, width_of

from extremum import model
from extremum.model import reference

CASES = 400
MODES = ("propagate", "ignore")
LAYOUTS = ("tensor", "plane", "column_major")


def elements(rng, name, sizes):
    """Return a tensor of a few special elements, of neighbours that differ in a bit, or of any."""
    width = width_of(name)
    top, full = 1 << width - 1, (1 << width) - 1
    special = [0, 1, top - 1, top, top + 1, full]
    if name in FLOATS:
        limit = infinity(name)
        quiet = limit | limit >> 1
        special += [limit, limit - 1, limit + 1, quiet, rng.randrange(limit)]
        special += [top | bits for bits in special]
    one = rng.getrandbits(width)
    alphabet = rng.choice(
        (special, rng.sample(special, 2), [one, one ^ 1 << rng.randrange(width)], None)
    )
    count = int(np.prod(sizes))
    words = rng.choices(alphabet, k=count) if alphabet else [
        rng.getrandbits(width) for _ in range(count)
    ]  # fmt: skip
    return np.array(words, f"u{width // 8}").view(name).reshape(sizes)


def laid(rng, x):
    """Return the tensor, somehow laid out in memory."""
    kind = rng.randrange(4)
    if kind == 1:
        return np.asfortranarray(x)
    if kind == 2:
        return x[::-1].copy()[::-1]
    if kind == 3:
        wide = np.zeros([2 * size for size in x.shape], x.dtype)
        every = wide[tuple(slice(None, None, 2) for _ in x.shape)]
        every.view(f"u{x.itemsize}")[...] = x.view(f"u{x.itemsize}")
        return every
    return x


def words_of(values, name):
    """Return bits as a tensor of a type."""
    return values.astype(f"u{width_of(name) // 8}").view(name)


def indices_of(positions, index_type):
    """Return positions as a tensor of an index type; that of an empty window is all ones."""
    width = width_of(index_type)
    known = [(1 << width) - 1 if position is None else position for position in positions.flat]
    return words_of(np.array(known, object).reshape(positions.shape), index_type)


@pytest.mark.parametrize("name", TYPES)
def test_reductions(name):
    rng = random.Random(f"reductions of {name}")
    for _ in range(some(CASES)):
        count = rng.randint(1, 8)
        sizes = [rng.choice((1, 2, 3) if count > 3 else (1, 2, 3, 5, 9)) for _ in range(count)]
        sizes = sizes[: 4 if np.prod(sizes) > 200 else 8]
        axes = rng.sample(range(len(sizes)), rng.randint(1, len(sizes)))
        contest = Contest(name, bool(rng.getrandbits(1)), rng.choice(MODES))
        decreasing, index_type = rng.random() < 0.5, rng.choice(("uint32", "uint64", "int64"))
        x = elements(rng, name, sizes)
        positions, values = second_reading.reduced(x, axes, contest, decreasing=decreasing)
        _, firsts = second_reading.reduced(x, axes, contest, decreasing=False)
        argument, value = (
            (model.argmin, model.reduce_min) if contest.minimum
            else (model.argmax, model.reduce_max)
        )  # fmt: skip
        turned = [axis - rng.choice((0, len(sizes))) for axis in axes]
        direction = "decreasing" if decreasing else "increasing"
        given = argument(
            laid(rng, x), turned,
            axis_direction=direction, index_type=index_type, nan=contest.nan,
        )  # fmt: skip
        assert_equal_bits(given, indices_of(positions, index_type))
        assert_equal_bits(value(laid(rng, x), turned, nan=contest.nan), words_of(firsts, name))
        told = reference.reduction(
            x, axes, minimum=contest.minimum, decreasing=decreasing, nan=contest.nan
        )
        assert np.array_equal(told[0], positions)
        assert_equal_bits(told[1], words_of(values, name))


def drawn_line(rng, most):
    """Return a dimension whose window may be larger than all that there is."""
    start, end = (rng.choice((0, 0, 1, 2, 6)) for _ in "se")
    return Line(
        rng.randint(1, most), rng.randint(1, 3), rng.randint(1, 4), start, end, rng.randint(1, 3)
    )


@pytest.mark.parametrize("name", TYPES)
def test_poolings(name):
    rng = random.Random(f"poolings of {name}")
    fitted = 0
    for _ in range(some(CASES)):
        count = rng.choice((2, 2, 3))
        lines = [drawn_line(rng, 7 if count == 2 else 4) for _ in range(count)]
        x = elements(rng, name, [rng.randint(1, 2), rng.choice((1, 3)), *(n.size for n in lines)])
        window, strides, start, end, dilations = (
            [getattr(line, part) for line in lines]
            for part in ("window", "stride", "start", "end", "dilation")
        )
        options = {
            "strides": strides, "start_padding": start, "end_padding": end,
            "dilations": dilations, "nan": rng.choice(MODES),
        }  # fmt: skip
        if any(line.outputs < 1 for line in lines):
            with pytest.raises(ValueError, match="window"):
                model.max_pooling(x, window, **options)
            continue
        fitted += 1
        layout, index_type = rng.choice(LAYOUTS), rng.choice(("uint32", "uint64", "int64"))
        contest = Contest(name, minimum=False, nan=options["nan"])
        positions, values = second_reading.pooled(x, lines, contest, layout)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that windows are empty
            given = model.max_pooling(
                laid(rng, x), window, **options,
                return_indices=True, index_type=index_type, index_layout=layout,
            )  # fmt: skip
        assert_equal_bits(given[0], words_of(values, name))
        assert_equal_bits(given[1], indices_of(positions, index_type))
        told = reference.pooling(x, window, **options, layout=layout)
        assert_equal_bits(told[0], words_of(values, name))
        assert np.array_equal(told[1], positions)
        assert told[2] == sum(position is None for position in positions.flat)
    assert fitted > 0

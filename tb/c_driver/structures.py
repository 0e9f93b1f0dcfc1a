"""The structures of the C driver's header in ctypes, and how Python's objects become such.

A member that is missing or out of place here shows in every comparison that `comparison` makes.
"""

import ctypes
import re
from ctypes import POINTER, c_bool, c_char_p, c_int32, c_int64, c_uint32, c_uint64
from pathlib import Path
from typing import ClassVar

import numpy as np

from extremum.hdl.config import OPERATORS
from extremum.hdl.register_table import register_names
from extremum.model import DataType
from extremum.tb.c_driver.operators import (
    DIRECTIONS,
    FUNCTIONS,
    INDEX_TYPES,
    LAYOUTS,
    NAN_MODES,
    TYPES,
)

FOLDER = Path(__file__).resolve().parents[2] / "drivers" / "c"
HEADER = (FOLDER / "extremum.h").read_text()

NAMES = register_names()


def members(enum):
    """The members of an enumeration of the header that count from 0, in their order."""
    (body,) = re.findall(rf"enum {enum} \{{(.*?)\}};", HEADER, re.DOTALL)
    return re.findall(r"\bEXTREMUM_\w+", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL))


ERRORS = [name.removeprefix("EXTREMUM_") for name in members("extremum_error")]


class Core(ctypes.Structure):
    """``struct extremum_core``."""

    _fields_: ClassVar = [
        ("data_types", c_uint32 * len(DataType)),
        ("data_type_count", c_uint32),
        ("lanes", c_uint32),
        ("max_window", c_uint32 * 3),
        ("max_dilation", c_uint32 * 3),
        ("max_line", c_uint32),
        ("max_plane", c_uint32),
        ("coordinate_width", c_uint32),
        ("index_width", c_uint32),
        ("operators", c_uint32),
        ("padding", c_bool),
        ("fixed", c_uint64),
        ("fixed_values", c_int64 * len(NAMES)),
    ]

    @classmethod
    def of(cls, config):
        """Return what the driver knows of a core of this configuration."""
        core = cls()
        core.data_type_count = len(config.data_types)
        core.data_types[: len(config.data_types)] = [
            TYPES.index(data_type.value) for data_type in config.data_types
        ]
        for name in ("lanes", "max_line", "max_plane", "coordinate_width", "index_width"):
            setattr(core, name, getattr(config, name))
        core.max_window[:] = config.max_window
        core.max_dilation[:] = config.max_dilation
        core.padding = config.padding
        core.operators = sum(1 << OPERATORS.index(operator) for operator in config.operators)
        for name, value in config.fixed:
            core.fixed |= 1 << NAMES.index(name)
            core.fixed_values[NAMES.index(name)] = value
        return core


class ReductionStruct(ctypes.Structure):
    """``struct extremum_reduction``."""

    _fields_: ClassVar = [
        ("function", c_uint32),
        ("rank", c_uint32),
        ("sizes", c_uint32 * 8),
        ("data_type", c_uint32),
        ("axis_count", c_uint32),
        ("axes", c_int32 * 8),
        ("axis_direction", c_uint32),
        ("index_type", c_uint32),
        ("nan", c_uint32),
        ("input_strides", POINTER(c_int64)),
        ("output_strides", POINTER(c_int64)),
    ]


class PoolingStruct(ctypes.Structure):
    """``struct extremum_pooling``."""

    _fields_: ClassVar = [
        ("rank", c_uint32),
        ("sizes", c_uint32 * 8),
        ("data_type", c_uint32),
        ("window", c_uint32 * 3),
        ("strides", c_uint32 * 3),
        ("start_padding", c_uint32 * 3),
        ("end_padding", c_uint32 * 3),
        ("dilations", c_uint32 * 3),
        ("return_indices", c_bool),
        ("index_type", c_uint32),
        ("index_layout", c_uint32),
        ("nan", c_uint32),
        ("input_strides", POINTER(c_int64)),
        ("output_strides", POINTER(c_int64)),
    ]


class Loops(ctypes.Structure):
    """``struct extremum_loops``."""

    _fields_: ClassVar = [("depth", c_uint32), ("counts", c_uint32 * 8), ("strides", c_int64 * 8)]

    def offsets(self):
        """The offsets of all steps."""
        offsets = np.zeros(1, np.int64)
        for i in range(self.depth):
            steps = np.arange(self.counts[i], dtype=np.int64) * self.strides[i]
            offsets = (offsets[:, None] + steps).reshape(-1)
        return offsets


class Stream(ctypes.Structure):
    """``struct extremum_stream``."""

    _fields_: ClassVar = [
        ("base", c_int64),
        ("first_slice", c_uint32),
        ("slices", c_uint32),
        ("elements", c_uint32),
        ("lanes", c_uint32),
        ("tail", c_uint32),
        ("beats", c_uint32),
        ("fold", c_bool),
        ("over_slices", Loops),
        ("over_elements", Loops),
    ]

    def expanded(self):
        """The offset of what each beat carries in each lane, and whether it carries anything.

        This follows the words of the header, beat by beat in NumPy.
        """
        slices, elements = self.over_slices.offsets(), self.over_elements.offsets()
        assert len(elements) == self.elements
        slices = slices[self.first_slice : self.first_slice + self.slices]
        assert len(slices) == self.slices
        lane, lanes = np.arange(self.lanes), self.lanes
        if self.fold:
            beats = -(-self.elements // lanes)
            element = np.arange(beats)[:, None] * lanes + lane
            there = np.ones(element.shape, bool)
            there[-1, self.tail :] = False
            places = np.where(there, elements[np.minimum(element, self.elements - 1)], 0)
            offsets = (slices[:, None, None] + places).reshape(-1, lanes)
            there = np.broadcast_to(there, (self.slices, beats, lanes)).reshape(-1, lanes)
        else:
            groups = -(-self.slices // lanes)
            number = np.arange(groups)[:, None] * lanes + lane
            there = np.ones((groups, 1, lanes), bool)
            there[-1, :, self.tail :] = False
            start = slices[np.minimum(number, self.slices - 1)][:, None, :]
            offsets = (start + elements[None, :, None]).reshape(-1, lanes)
            there = np.broadcast_to(there, (groups, self.elements, lanes)).reshape(-1, lanes)
        assert len(offsets) == self.beats
        return self.base + offsets, there


class JobStruct(ctypes.Structure):
    """``struct extremum_job``."""

    _fields_: ClassVar = [
        ("registers", c_int64 * len(NAMES)),
        ("input", Stream),
        ("output", Stream),
    ]


class Dimension(ctypes.Structure):
    """``struct extremum_dimension``."""

    _fields_: ClassVar = [
        (name, c_int64)
        for name in ("size", "window", "stride", "dilation", "start_padding", "end_padding")
    ]


class Cuts(ctypes.Structure):
    """``struct extremum_cuts``."""

    _fields_: ClassVar = [
        ("dimension", Dimension),
        *((name, c_int64) for name in ("outputs", "tiles", "first_seen", "seen")),
    ]


class PlanStruct(ctypes.Structure):
    """``struct extremum_plan``."""

    _fields_: ClassVar = [
        ("core", POINTER(Core)),
        ("jobs", c_uint64),
        ("next", c_uint64),
        ("is_pooling", c_bool),
        ("registers", c_int64 * len(NAMES)),
        ("input", Stream),
        ("output", Stream),
        ("cuts", Cuts * 3),
        ("weights", c_uint32 * 3),
        ("slice_weight", c_uint32),
        ("slices", c_uint32),
        ("slices_at_once", c_uint32),
        ("input_strides", c_int64 * 3),
        ("output_strides", c_int64 * 3),
    ]


def load(path):
    """Load a driver that was compiled as a shared library."""
    library = ctypes.CDLL(str(path))
    for kind, struct in (("reduction", ReductionStruct), ("pooling", PoolingStruct)):
        function = getattr(library, f"extremum_plan_{kind}")
        function.argtypes = [POINTER(PlanStruct), POINTER(Core), POINTER(struct)]
    library.extremum_next_job.argtypes = [POINTER(PlanStruct), POINTER(JobStruct)]
    library.extremum_next_job.restype = c_bool
    library.extremum_check_job.argtypes = [POINTER(Core), POINTER(JobStruct)]
    library.extremum_register_word.argtypes = [POINTER(Core), POINTER(JobStruct), c_uint32]
    library.extremum_register_word.restype = c_uint32
    library.extremum_find_element.argtypes = [
        POINTER(Stream),
        c_uint32,
        c_uint32,
        POINTER(c_int64),
    ]
    library.extremum_find_element.restype = c_bool
    library.extremum_error_text.restype = c_char_p
    return library


def used(kind):
    """Return a structure full of what was in memory before: the driver must not look at it."""
    return kind.from_buffer(bytearray(b"\xa5" * ctypes.sizeof(kind)))


def number(names, name):
    """The number of a name in an enumeration; a name that is not there has one behind the last."""
    return names.index(name) if name in names else len(names)


def strides_of(values):
    """Return strides as the array that a structure points to, None for a packed tensor."""
    return None if values is None else (c_int64 * 8)(*values)


def reduction_struct(arguments, input_strides=None, output_strides=None):
    """Return the structure of a reduction with the arguments of ``Reduction.of``."""
    struct = ReductionStruct()
    sizes, axes = arguments["sizes"], arguments["axes"]
    struct.function = number(FUNCTIONS, arguments["function"])
    struct.rank = len(sizes)
    struct.sizes[: min(8, len(sizes))] = sizes[:8]
    struct.data_type = number(TYPES, arguments["data_type"])
    struct.axis_count = len(axes)
    struct.axes[: min(8, len(axes))] = axes[:8]
    struct.axis_direction = number(DIRECTIONS, arguments["axis_direction"])
    struct.index_type = number(INDEX_TYPES, arguments["index_type"])
    struct.nan = number(NAN_MODES, arguments["nan"])
    struct.input_strides = strides_of(input_strides)
    struct.output_strides = strides_of(output_strides)
    return struct


def pooling_struct(arguments, input_strides=None, output_strides=None):
    """Return the structure of a pooling with the arguments of ``Pooling.of``."""
    struct = PoolingStruct()
    sizes = arguments["sizes"]
    struct.rank = len(sizes)
    struct.sizes[: min(8, len(sizes))] = sizes[:8]
    struct.data_type = number(TYPES, arguments["data_type"])
    for name in ("window", "strides", "start_padding", "end_padding", "dilations"):
        values = arguments[name][:3]
        getattr(struct, name)[: len(values)] = values
    struct.return_indices = arguments["return_indices"]
    struct.index_type = number(INDEX_TYPES, arguments["index_type"])
    struct.index_layout = number(LAYOUTS, arguments["index_layout"])
    struct.nan = number(NAN_MODES, arguments["nan"])
    struct.input_strides = strides_of(input_strides)
    struct.output_strides = strides_of(output_strides)
    return struct

"""Networks with trained weights, from wheels of PyPI: reading text, and telling types of files.

Both are under the Apache licence: the recogniser PP-OCRv6 of PaddleOCR, which the wheel `rapidocr`
brings, and the classifier of the wheel `magika`. ONNX Runtime's own tool makes a quantised network
of the first.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import matplotlib
import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from PIL import Image, ImageDraw, ImageFont

HEIGHT = 48
"""Pixels of a line of text, as the recogniser wants it."""

FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


def recogniser() -> ModelProto:
    """Return the network that reads a line of text, with the argmax over its classes behind it.

    It gives scores of each class for each step along the line. The class of a step is the one with
    the highest score, which users of the network compute themselves: here it is a node.
    """
    model = onnx.load(str(files("rapidocr") / "models" / "PP-OCRv6_rec_small.onnx"))
    (scores,) = model.graph.output
    best = helper.make_node("ArgMax", [scores.name], ["classes"], "classes", axis=2, keepdims=0)
    model.graph.node.append(best)
    sizes = ["lines", "steps"]
    model.graph.output.append(helper.make_tensor_value_info("classes", TensorProto.INT64, sizes))
    return model


class _Lines(CalibrationDataReader):
    """Gives pictures of lines of text, from whose tensors the scales are chosen."""

    def __init__(self, *texts: str) -> None:
        self._pixels: Iterator[np.ndarray] = iter([pixels(picture(text)) for text in texts])

    def get_next(self) -> dict[str, np.ndarray] | None:  # pyright: ignore[reportIncompatibleMethodOverride] (None ends it)
        """Return the next input; None behind the last."""
        x = next(self._pixels, None)
        return None if x is None else {"x": x}


def quantised(model: ModelProto, *texts: str) -> ModelProto:
    """Return a recogniser that computes with whole numbers of 8 bits, and real ones between them.

    Parameters
    ----------
    model
        The recogniser.
    texts
        Lines of text, from pictures of which the scales are chosen.
    """
    level = logging.root.level
    logging.root.setLevel(logging.ERROR)  # it recommends other optimisations of the network
    try:
        with tempfile.TemporaryDirectory() as folder:
            real, path = (Path(folder) / name for name in ("real.onnx", "quantised.onnx"))
            onnx.save(model, real)  # a model in memory would be changed
            quantize_static(
                real, path, _Lines(*texts), quant_format=QuantFormat.QDQ,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            )  # fmt: skip
            return onnx.load(path)
    finally:
        logging.root.setLevel(level)


def picture(text: str) -> Image.Image:
    """Return a picture of a line of text, black on white."""
    font = ImageFont.truetype(str(FONT), 32)
    image = Image.new("RGB", (int(font.getlength(text)) + 20, HEIGHT), "white")
    ImageDraw.Draw(image).text((10, 5), text, fill="black", font=font)
    return image


def pixels(image: Image.Image) -> np.ndarray:
    """Return a picture as the recogniser wants it: 1 x 3 x 48 x width, from -1 to 1, blue first."""
    levels = np.asarray(image, np.float32)[:, :, ::-1].transpose(2, 0, 1)
    return levels[None] / np.float32(127.5) - np.float32(1)


def text_of(model: ModelProto, classes: np.ndarray) -> str:
    """Return the text that the classes of the steps of one line stand for.

    Class 0 is no character, and a character that stands in several steps is read once.
    """
    (listed,) = (entry.value for entry in model.metadata_props if entry.key == "character")
    characters = ["", *listed.splitlines(), " "]
    changes = np.flatnonzero(np.diff(classes, prepend=-1))
    return "".join(characters[int(step)] for step in classes[changes])


def classifier() -> Path:
    """Return the file of the network that tells the type of a file."""
    return _magika() / "model.onnx"


def ends_of(content: bytes) -> np.ndarray:
    """Return the bytes that the classifier looks at: the first and the last 1024 of a file."""
    settings = json.loads((_magika() / "config.min.json").read_text())
    size, padding = settings["beg_size"], settings["padding_token"]
    first, last = list(content.lstrip()[:size]), list(content.rstrip()[-size:])
    first += [padding] * (size - len(first))
    last = [padding] * (size - len(last)) + last
    return np.array([first + last], np.int32)


def type_of(scores: np.ndarray) -> str:
    """Return the type with the highest score."""
    settings = json.loads((_magika() / "config.min.json").read_text())
    return settings["target_labels_space"][int(scores[0].argmax())]


def _magika() -> Path:
    return Path(str(files("magika"))) / "models" / "standard_v3_3"

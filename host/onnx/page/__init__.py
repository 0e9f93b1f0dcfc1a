"""The page that ``extremum onnx --report`` writes about a network.

It is one HTML file that loads nothing, for light and dark, and for wide and narrow windows.

- `document` puts the page together: its text, its table and its bars.
- `graph` says which boxes and edges the picture of the network has, `grouping` which nodes share
  a box, and `layout` where everything is drawn.
- `plot` places the layers in the plot of beats per clock.
- `feature_map` cuts out what a pooling selects.
"""

from extremum.onnx.page.document import page
from extremum.onnx.page.feature_map import FeatureMap, feature_map
from extremum.onnx.page.graph import picture_of

__all__ = ["FeatureMap", "feature_map", "page", "picture_of"]

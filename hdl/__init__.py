"""The gateware: a streaming datapath for argmin, argmax and max pooling, in Amaranth."""

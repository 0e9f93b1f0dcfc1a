"""The golden model: DirectML's argmin, argmax, reduce and max pooling operators in NumPy."""

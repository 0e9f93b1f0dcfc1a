"""From an operator on a tensor to jobs of the core, and the backends that run them."""

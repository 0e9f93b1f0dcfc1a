"""The fast paths of the golden model: kernels that use NumPy well.

They compute what `extremum.model.reference` computes, bit for bit, for problems that
`extremum.model.Reduction` and `extremum.model.Pooling` have checked. Nothing here checks its input
or decides a rule of the contract.

- ``reduction`` and ``pooling`` cut a problem into blocks that bound the memory.
- ``order`` maps elements to keys that NumPy compares as the contract compares the elements.
- ``rows`` finds the winner of every row of a matrix, ``columns`` that of every short column.
- ``gather`` finds the winner of every window of a small tensor.
- ``tiles``, ``winners``, ``sliding``, ``slide_plan`` and ``line_plan`` find that of a large one;
  ``values``, ``maximum`` and ``recording`` find its value alone.
- ``pages`` gives memory that NumPy is fast in.
"""

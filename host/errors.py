"""What can go wrong outside of the operator itself; bad operators are TypeError and ValueError."""


class ToolError(RuntimeError):
    """A tool is missing or too old. The message names it and the command that installs it."""


class CacheError(ToolError):
    """The cache cannot be used. The message names its folder and what can be done."""


class SimulationError(RuntimeError):
    """A simulator crashed, broke a stream rule, or made no progress."""


class SynthesisError(RuntimeError):
    """A tool for FPGAs refused the core. The message names the tool and gives its first error."""

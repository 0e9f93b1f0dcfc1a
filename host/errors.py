"""What can go wrong outside of the operator itself; bad operators are TypeError and ValueError."""


class ToolError(RuntimeError):
    """A tool is missing or too old. The message names it and the command that installs it."""


class CacheError(ToolError):
    """The cache cannot be used. The message names its folder and what can be done."""


class SimulationError(RuntimeError):
    """A simulator crashed, broke a stream rule, or made no progress."""


class WaveformError(SimulationError):
    """Waveforms could not be written, or not all. The message names the file and the reason."""


class SynthesisError(RuntimeError):
    """A tool for FPGAs refused the core. The message names the tool and gives its first error."""


class DeviceError(RuntimeError):
    """An AXI block is not the expected one, refused an access, or gave a wrong packet."""


class JobFailedError(DeviceError):
    """The AXI block reported that a job failed.

    Parameters
    ----------
    code
        The name of the reason, a member of ``BlockError`` in the register map: ``"RANGE"``.
    job
        How many jobs were started before it since reset, modulo 256. None if the error belongs to
        no job, as ``QUEUE_FULL`` does.
    register
        The job register whose value did not fit, if that is the reason.
    """

    def __init__(self, code: str, job: int | None, register: str | None = None) -> None:
        self.code, self.job, self.register = code, job, register
        where = f" in register {register}" if register else ""
        which = "" if job is None else f" for job {job} since its reset (modulo 256)"
        super().__init__(
            f"the block reported {code}{where}{which}: call driver.reset() before the next job"
        )

    def __reduce__(self) -> tuple[type, tuple[str, int | None, str | None]]:
        """Say how a copy is made, as of an error in another process."""
        return type(self), (self.code, self.job, self.register)

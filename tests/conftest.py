"""What every suite shares: a Hypothesis profile that gives the same examples each time."""

from hypothesis import HealthCheck, settings

# Examples are drawn from a fixed seed, so that a failure in one run is one in every run. There is
# no deadline: the first call of a function can be slow on a busy machine.
settings.register_profile(
    "extremum",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("extremum")

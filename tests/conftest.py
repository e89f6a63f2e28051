"""What all tests share: real servers for those that ask, and how hard Hypothesis tries.

The default is quick and repeatable; `HYPOTHESIS_PROFILE=thorough` searches longer, and anew each time.
"""

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.servers", "tests.backends"]

settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

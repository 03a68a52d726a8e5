"""Settings of every test: properties are judged by what they find, never by the clock of a busy machine."""

from hypothesis import HealthCheck, settings

settings.register_profile("turnout", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("turnout")

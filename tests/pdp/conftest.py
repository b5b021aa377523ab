"""Tests of the decision point use a replica's time zones."""

import zoneinfo

# Those of the tzdata package, as `create_app` chooses them.
zoneinfo.reset_tzpath(())

"""Tests of the decision point run on a replica's time zones."""

import zoneinfo

# Those of the tzdata package, as `create_app` chooses them.
zoneinfo.reset_tzpath(())

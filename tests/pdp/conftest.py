"""How tests of the decision point run: on a replica's zones, and the same examples every time.

EXAMPLES=20000 looks at as many others, each time anew.
"""

import os
import zoneinfo

from hypothesis import settings

# Those of the tzdata package, as `create_app` chooses them.
zoneinfo.reset_tzpath(())

settings.register_profile("same every time", derandomize=True, database=None, deadline=None)
settings.register_profile("search", database=None, deadline=None, max_examples=int(os.environ.get("EXAMPLES", "1")))
settings.load_profile("search" if "EXAMPLES" in os.environ else "same every time")

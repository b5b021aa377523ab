/** All tests that need no framework, in one process, so that they share one service. */

import "./client.test.js";
import "./fails_closed.test.js";
import "./package.test.js";
import "./pages.test.js";
import "./what_runs.test.js";

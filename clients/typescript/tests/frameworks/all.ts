/** All tests that need frameworks, in one process, so that they share one service. */

import "./adapters.test.js";
import "./histories.test.js";
import "./interrupts.test.js";
import "./judged_once.test.js";
import "./mcp.test.js";
import "./pages.test.js";
import "./pauses.test.js";
import "./what_runs.test.js";

import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

import { testPage } from "../pages.js";

const programs = new URL("../pages", import.meta.url);
for (const file of existsSync(programs) ? readdirSync(programs) : []) testPage(path.basename(file, ".js"));

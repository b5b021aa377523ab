import { testPage } from "./pages.js";

testPage("README");

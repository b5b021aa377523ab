// Types of yaml.js, for tsc; not served.
export { defineScalarTag, FAILSAFE_SCHEMA, load, NOT_RESOLVED } from "js-yaml";

export { defineScalarTag, FAILSAFE_SCHEMA, load, NOT_RESOLVED } from "js-yaml";

import tests from "./vitest.config.mjs";

export default { ...tests, test: { ...tests.test, include: ["tests/pictures/*.pictures.ts"] } };

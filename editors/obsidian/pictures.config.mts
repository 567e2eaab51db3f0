import { mergeConfig } from "vitest/config";
import tests from "./vitest.config.mjs";

export default mergeConfig(tests, { test: { include: ["tests/pictures/*.pictures.ts"] } });

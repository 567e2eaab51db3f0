/** Takes the version of package.json over into manifest.json and versions.json: `npm version 0.2.0`. */

import { readFileSync, writeFileSync } from "node:fs";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const write = (file, data) => writeFileSync(file, `${JSON.stringify(data, null, "\t")}\n`);

const { version } = read("package.json");
const manifest = { ...read("manifest.json"), version };
write("manifest.json", manifest);
write("versions.json", { ...read("versions.json"), [version]: manifest.minAppVersion });

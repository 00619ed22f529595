// Checks HAR files against the HAR 1.2 JSON schema (npm har-validator).
//
//   npm ci --prefix scripts/har && node scripts/har/validate.mjs FILE.har...
//
// Exits 1 if a file is not valid, 2 if there was nothing to check.

import { readFile } from "node:fs/promises";
import { har } from "har-validator";

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error("error: no HAR file was named");
  process.exit(2);
}

let invalid = 0;
for (const file of files) {
  try {
    await har(JSON.parse(await readFile(file, "utf8")));
    console.log(`valid: ${file}`);
  } catch (error) {
    invalid += 1;
    console.error(`invalid: ${file}: ${error.message}`);
    for (const e of error.errors ?? []) console.error(`  ${e.dataPath}: ${e.message}`);
  }
}
process.exit(invalid === 0 ? 0 : 1);

// Prints a page that draws HAR files with PerfCascade, a waterfall viewer that we did not write.
//
//   node scripts/har/viewer-page.mjs FILE.har... > page.html

import { readFile } from "node:fs/promises";

const library = new URL("node_modules/perf-cascade/dist/perf-cascade.min.js", import.meta.url);
const script = await readFile(library, "utf8");
const hars = await Promise.all(process.argv.slice(2).map((file) => readFile(file, "utf8")));
const data = hars.join(",").replaceAll("</", "<\\/");
process.stdout.write(`<!doctype html><meta charset="utf-8"><title>HARs</title><body>
<script>${script}</script>
<script>
for (const har of [${data}]) {
  const entries = har.log.entries.length;
  const svg = perfCascade.fromHar(har);
  document.body.append(svg);
  const rows = svg.querySelectorAll(".row-item").length;
  document.body.append(\`drawn \${rows} of \${entries}\`, document.createElement("br"));
}
</script>
`);

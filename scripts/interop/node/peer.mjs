// Node.js's own HTTP/2, with pushes: a client that takes them, a server that pushes /middle with /empty.
//
//   node peer.mjs fetch URL PATH...                 prints of each response: status, size, SHA-256, path, and whether it was pushed
//   node peer.mjs serve PORT FOLDER KEY CHAIN
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, createSecureServer } from "node:http2";

const [end, ...rest] = process.argv.slice(2);
if (end === "fetch") await fetchAll(...rest);
else if (end === "serve") serve(...rest);
else throw new Error(`\`${end}\` is no end: say fetch or serve`);

async function fetchAll(url, ...paths) {
  const session = connect(url, { rejectUnauthorized: false });
  const pushed = [];
  session.on("stream", (stream, request) => {
    stream.on("push", (head) => pushed.push(told(stream, head, `${request[":path"]} pushed`)));
  });
  const asked = paths.map((path) => {
    const stream = session.request({ ":path": path });
    return new Promise((resolve, reject) => {
      stream.on("error", reject);
      stream.on("response", (head) => resolve(told(stream, head, path)));
    });
  });
  await Promise.all(asked);
  await Promise.all(pushed);
  session.close();
}

function told(stream, head, what) {
  const digest = createHash("sha256");
  let bytes = 0;
  return new Promise((resolve, reject) => {
    stream.on("error", reject);
    stream.on("data", (piece) => {
      bytes += piece.length;
      digest.update(piece);
    });
    stream.on("end", () => {
      console.log(`${head[":status"]} ${bytes} ${digest.digest("hex")} ${what}`);
      resolve();
    });
  });
}

function serve(port, folder, key, chain) {
  const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(chain) });
  const file = (path) => readFileSync(`${folder}/${path.slice(1)}`);
  server.on("stream", (stream, head) => {
    if (head[":path"] === "/empty" && stream.pushAllowed) {
      stream.pushStream({ ":path": "/middle" }, (error, push) => {
        if (error) throw error;
        push.respond({ ":status": 200 });
        push.end(file("/middle"));
      });
    }
    stream.respond({ ":status": 200 });
    stream.end(file(head[":path"]));
  });
  server.listen(Number(port), "127.0.0.1");
}

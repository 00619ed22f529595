// What the page asks its server, and what the server tells by itself.
import { useEffect, useState } from "/htm-preact.js";

// Asks the server; throws its reason if it refuses.
export async function ask(method, path, body) {
  const options = { method, headers: { "X-Farlink": "1" } };
  if (body instanceof Blob) options.body = body;
  else if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const text = await response.text();
  let answer;
  try { answer = JSON.parse(text); } catch { answer = { error: text }; }
  if (!response.ok) throw new Error(answer.error ?? response.statusText);
  return answer;
}

// Runs and jobs, as they change.
export function useOverview() {
  const [overview, set] = useState({ runs: null, jobs: [], error: null, isConnected: true });
  useEffect(() => {
    const events = new EventSource("/api/events");
    events.onmessage = (event) => set({ ...JSON.parse(event.data), isConnected: true });
    events.onerror = () => set((before) => ({ ...before, isConnected: false }));
    return () => events.close();
  }, []);
  return overview;
}

// The answer of a job when it has ended.
export async function outcome(job) {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (;;) {
    const now = await ask("GET", `/api/jobs/${job.id}`);
    if (now.state !== "running") return now;
    await wait(300);
  }
}

// The JSON lines of a job's output.
export const lines = (job) => job.output.split("\n").filter(Boolean).map((line) => JSON.parse(line));

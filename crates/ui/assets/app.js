// The page's frame: where the reader is, and which view that means.
import { html, render, useEffect, useRef, useState } from "/htm-preact.js";
import { ask, useOverview } from "/server.js";
import { NewRun } from "/new-run.js";
import { Compare, RunView } from "/run-view.js";

function useRoute() {
  const read = () => location.hash.replace(/^#\/?/, "").split("/");
  const [route, set] = useState(read());
  useEffect(() => {
    const change = () => set(read());
    addEventListener("hashchange", change);
    // The address may have changed before anybody listened.
    change();
    return () => removeEventListener("hashchange", change);
  }, []);
  return route;
}

function Runs({ runs }) {
  if (!runs) return html`<h1>Runs</h1><p role="status">Reading the store ...</p>`;
  if (runs.length === 0) return html`<h1>Runs</h1><p>None yet. <a href="#/">Start one</a></p>`;
  return html`<h1>Runs</h1><div class="wide" tabindex="0" role="region" aria-label="Runs"><table>
    <thead><tr><th scope="col" class="n">run</th><th scope="col">name</th><th scope="col">state</th><th scope="col" class="n">loads</th><th scope="col">started</th></tr></thead>
    <tbody>${[...runs].reverse().map((run) => html`<tr key=${run.id}><td class="n">${run.id}</td>
      <th scope="row"><a href=${`#/runs/${run.id}`}>${run.name}</a></th><td>${run.state}</td><td class="n">${run.stored}/${run.journeys}</td>
      <td>${run.started_at}</td></tr>`)}</tbody></table></div>`;
}

// A run that was started here: to its view as soon as the store has it, or the reason why it was not.
function Starting({ job, overview, onRefused }) {
  const known = useRef(null);
  const began = useRef(performance.now());
  useEffect(() => {
    if (!overview.runs) return;
    known.current ??= new Set(job.known);
    const now = overview.jobs.find((it) => it.id === job.id);
    const fresh = overview.runs.find((run) => !known.current.has(run.id));
    // It may be one that the store has whole, or the rest of an interrupted run; another process' run would have been refused by now.
    const whole = /as run (\d+)/.exec(now?.messages ?? "");
    const isUnderWay = now?.state === "running" && performance.now() - began.current > 2000;
    const resumed = isUnderWay && overview.runs.find((run) => run.state === "running");
    if (fresh) location.hash = `#/runs/${fresh.id}`;
    else if (whole) location.hash = `#/runs/${whole[1]}`;
    else if (resumed) location.hash = `#/runs/${resumed.id}`;
    else if (now && now.state !== "running") onRefused(now.messages);
  });
  return html`<h1>Starting</h1><p role="status"><code>${job.command}</code></p>`;
}

function App() {
  const overview = useOverview();
  const [view = "", first, second] = useRoute();
  const [choices, setChoices] = useState(null);
  const [starting, setStarting] = useState(null);
  const [problem, setProblem] = useState(null);
  const main = useRef(null);
  useEffect(() => { ask("GET", "/api/choices").then(setChoices, (error) => setProblem(error.message)); }, []);
  // A reader who follows a link by keyboard goes on from the view's beginning.
  const place = location.hash;
  const isFirst = useRef(true);
  useEffect(() => {
    if (view) setStarting(null);
    if (isFirst.current) isFirst.current = false;
    else { main.current?.focus(); scrollTo(0, 0); }
  }, [place]);
  const running = overview.runs?.filter((run) => run.state === "running") ?? [];
  const content = () => {
    if (view === "runs" && first) return html`<${RunView} key=${first} id=${Number(first)} overview=${overview} />`;
    if (view === "runs") return html`<${Runs} runs=${overview.runs} />`;
    if (view === "compare") return html`<${Compare} before=${Number(first)} after=${Number(second)} overview=${overview} />`;
    if (starting) return html`<${Starting} job=${starting} overview=${overview} onRefused=${(why) => { setStarting(null); setProblem(why); }} />`;
    return choices && html`<${NewRun} choices=${choices}
      onStarted=${(job) => { setProblem(null); setStarting({ ...job, known: (overview.runs ?? []).map((run) => run.id) }); }} />`;
  };
  const current = (name) => (view === name ? "page" : undefined);
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current?.focus(); }}>To the content</a>
    <header class="bar"><nav aria-label="Views"><a class="brand" href="#/">farlink</a>
      <a href="#/" aria-current=${current("")}>New run</a><a href="#/runs" aria-current=${current("runs")}>Runs</a></nav>
      ${running.length > 0 && view !== "runs" && html`<a href=${`#/runs/${running[0].id}`} class="small">run ${running[0].id}: ${running[0].stored} of ${running[0].journeys}</a>`}
    </header>
    <main id="main" ref=${main} tabindex="-1">
      <p role="alert" class="problem">${!overview.isConnected ? "farlink has ended; start `farlink ui` again." : overview.error}</p>
      ${problem && html`<pre class="problem" role="alert">${problem}</pre>`}
      ${content()}
    </main>`;
}

render(html`<${App} />`, document.getElementById("app"));

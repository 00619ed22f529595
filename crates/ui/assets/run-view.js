// A run: its progress, its answer as it appears, and questions about it.
import { html, useEffect, useRef, useState } from "/htm-preact.js";
import { ask, lines, outcome } from "/server.js";

const ms = (ns) => (ns == null ? "-" : ns < 1e9 ? `${(ns / 1e6).toPrecision(3)} ms` : `${(ns / 1e9).toPrecision(3)} s`);
const percent = (share) => (share == null ? "-" : `${share > 0 ? "+" : ""}${(100 * share).toFixed(1)} %`);
const between = (interval) => (interval ? `${percent(interval[0])} to ${percent(interval[1])}` : "-");

export function Progress({ run }) {
  const share = run.journeys ? run.stored / run.journeys : 0;
  const words = `${run.stored} of ${run.journeys} loads${run.until_ppm ? ` so far, until medians are certain to ${run.until_ppm / 1e4} %` : ""}`;
  return html`<p class="progress"><progress value=${share} max="1" aria-label=${`Progress of ${run.name}`}></progress> <span class="small">${words}</span></p>`;
}

// Columns: title, whether it is a number, and the cell of a row.
function Rows({ caption, columns, rows }) {
  return html`<div class="wide" tabindex="0" role="region" aria-label=${caption}><table><caption>${caption}</caption>
    <thead><tr>${columns.map(([title, isNumber]) => html`<th scope="col" class=${isNumber ? "n" : ""}>${title}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${columns.map(([, isNumber, cell], place) => (place === 0
      ? html`<th scope="row">${cell(row)}</th>` : html`<td class=${isNumber ? "n" : ""}>${cell(row)}</td>`))}</tr>`)}</tbody></table></div>`;
}

const grouped = (value) => Math.round(value).toLocaleString("en");
// Title and unit of what is compared.
const METRICS = {
  plt: ["load time", ms], render: ["first render", ms], ttfb: ["first byte", ms], byteindex: ["ByteIndex", ms],
  bytes: ["bytes received", (bytes) => `${grouped(bytes / 1000)} KB`], connections: ["connections", grouped],
};

export function Comparison({ differences }) {
  const metric = (it) => METRICS[it.metric] ?? [it.metric, grouped];
  return html`<${Rows} caption="Medians before and after" rows=${differences} columns=${[
    ["arm", false, (it) => it.arm], ["what", false, (it) => metric(it)[0]], ["change", true, (it) => percent(it.change)],
    ["before", true, (it) => metric(it)[1](it.before)], ["after", true, (it) => metric(it)[1](it.after)],
    ["95 % interval", true, (it) => between(it.interval)], ["verdict", false, (it) => it.verdict]]} />`;
}

function WhatIf({ changes }) {
  return html`<${Rows} caption="What if ..." rows=${changes} columns=${[
    ["change", false, (it) => it.what_if], ["load time", true, (it) => ms(it.load_time_ns.after)],
    ["difference", true, (it) => percent(it.load_time_ns.change)], ["95 % interval", true, (it) => between(it.load_time_ns.interval)],
    ["verdict", false, (it) => it.load_time_ns.verdict]]} />`;
}

function Advice({ advice }) {
  if (advice.steps.length === 0) return html`<p class="answer">Nothing that farlink can change makes this page faster.</p>`;
  const last = advice.steps[advice.steps.length - 1];
  return html`
    <p class="answer">${advice.steps.map((it) => it.step).join(", then ")}.</p>
    <${Rows} caption="All steps together" rows=${last.networks} columns=${[
      ["network", false, (it) => it.network], ["before", true, (it) => ms(it.in_all.before)], ["after", true, (it) => ms(it.in_all.after)],
      ["change", true, (it) => percent(it.in_all.change)], ["95 % interval", true, (it) => between(it.in_all.interval)]]} />
    ${advice.steps.map((step) => html`<details open><summary>${step.step}: ${step.networks.map((it) => `${percent(it.step.change)} on ${it.network}`).join(", ")}</summary>
      <dl class="full">${step.configuration.map(([where, how]) => html`<div><dt>${where}</dt><dd><code>${how}</code></dd></div>`)}</dl></details>`)}`;
}

// A question to a command: its button, its command line while it works, its answer.
function Question({ title, question, render }) {
  const [job, setJob] = useState(null);
  const [problem, setProblem] = useState(null);
  const place = useRef(null);
  const go = async () => {
    setProblem(null);
    try {
      const started = await ask("POST", "/api/jobs", question);
      setJob(started);
      const ended = await outcome(started);
      setJob(ended);
      if (ended.state === "failed" && !ended.output) setProblem(ended.messages);
      place.current?.focus();
    } catch (error) { setProblem(error.message); }
  };
  const isBusy = job?.state === "running";
  return html`<div class="question">
    <button type="button" onClick=${go} disabled=${isBusy}>${title}</button>
    ${isBusy && html` <button type="button" onClick=${() => ask("DELETE", `/api/jobs/${job.id}`)}>Stop</button>`}
    <div ref=${place} tabindex="-1" aria-live="polite">
      ${job && html`<p class="small">${isBusy ? "Working: " : ""}<code>${job.command}</code></p>`}
      ${job && !isBusy && job.output && render(job)}
      ${problem && html`<pre class="problem">${problem}</pre>`}
    </div></div>`;
}

export function RunView({ id, overview }) {
  const row = overview.runs?.find((it) => it.id === id);
  const [run, setRun] = useState(null);
  const [problem, setProblem] = useState(null);
  const asked = useRef({ stored: -1, isBusy: false, cost: 0, at: 0 });
  // The answer is asked for again when there is more to it, and takes at most a fortieth of the time.
  useEffect(() => {
    if (!row) return;
    const it = asked.current;
    const key = `${row.stored} ${row.state}`;
    const isDue = performance.now() - it.at > 40 * it.cost || row.state !== "running";
    if (it.isBusy || it.key === key || !isDue) return;
    it.isBusy = true;
    const began = performance.now();
    ask("GET", `/api/runs/${id}`).then((shown) => { setRun(shown); it.key = key; setProblem(null); }, (error) => setProblem(error.message))
      .finally(() => { it.isBusy = false; it.cost = performance.now() - began; it.at = performance.now(); });
  });
  if (overview.runs && !row) return html`<h1>Run ${id}</h1><p>The store has no such run.</p>`;
  if (!row) return html`<p role="status">Reading the store ...</p>`;
  const others = overview.runs.filter((it) => it.id !== id && it.stored > 0);
  const job = overview.jobs.find((it) => it.state === "running" && it.command.startsWith("farlink run "));
  return html`
    <p class="kicker">run ${id} · ${row.state} · ${row.started_at}</p>
    <h1>${row.name}</h1>
    <p role="status" class="hidden">${row.state === "running" ? "Loading" : `Run ${row.state}`}</p>
    ${row.state !== "complete" && html`<${Progress} run=${row} />`}
    ${row.state === "running" && job && html`<p><button type="button" onClick=${() => ask("DELETE", `/api/jobs/${job.id}`)}>Stop</button>
      <span class="small"> What is loaded stays in the store.</span></p>`}
    <p role="alert" class="problem">${problem}</p>
    ${run?.answer && html`<div class="run-answer" dangerouslySetInnerHTML=${{ __html: run.answer }}></div>`}
    ${row.stored > 0 && html`<p><a href=${`/api/runs/${id}/report`} target="_blank" rel="noopener">Report with waterfalls</a></p>`}
    ${row.state !== "running" && run?.conditions && html`<section><h2>What would help</h2>
      <${Question} title="What if ...?" question=${{ kind: "what-if", ...run.conditions, networks: run.conditions.networks.slice(0, 1), protocols: [] }}
        render=${(ended) => html`<${WhatIf} changes=${lines(ended)} />`} />
      <${Question} title="Advise" question=${{ kind: "advise", ...run.conditions, protocols: [] }} render=${(ended) => html`<${Advice} advice=${lines(ended)[0]} />`} />
    </section>`}
    ${others.length > 0 && html`<section><h2>Compare</h2><ul>${others.slice(-10).reverse().map((it) => html`
      <li><a href=${`#/compare/${it.id}/${id}`}>with run ${it.id}, ${it.name}</a></li>`)}</ul></section>`}
    ${run?.experiment && html`<details><summary>The experiment</summary><pre>${run.experiment}</pre></details>`}`;
}

export function Compare({ before, after, overview }) {
  const [job, setJob] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    setJob(null);
    ask("POST", "/api/jobs", { kind: "compare", before, after }).then(outcome).then((ended) => {
      setJob(ended);
      if (!ended.output) setProblem(ended.messages);
    }, (error) => setProblem(error.message));
  }, [before, after]);
  const name = (id) => overview.runs?.find((it) => it.id === id)?.name ?? "";
  return html`
    <h1>Run ${before} and run ${after}</h1>
    <p>Before: <a href=${`#/runs/${before}`}>${name(before)}</a>. After: <a href=${`#/runs/${after}`}>${name(after)}</a>.${" "}
      <a href=${`#/compare/${after}/${before}`}>The other way round</a></p>
    <div aria-live="polite">
      ${job ? html`<p class="small"><code>${job.command}</code></p>` : html`<p role="status">Comparing ...</p>`}
      ${job?.output && html`<${Comparison} differences=${lines(job)} />`}
      ${problem && html`<pre class="problem">${problem}</pre>`}
    </div>`;
}

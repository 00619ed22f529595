// Choosing a page, networks and protocols, and starting the run.
import { html, useEffect, useState } from "/htm-preact.js";
import { ask } from "/server.js";
import { NetworkCard } from "/network-card.js";

const CHOSEN_NETWORKS = ["3g", "4g"];
const CHOSEN_PROTOCOLS = 3;

const toggled = (list, item) => (list.includes(item) ? list.filter((it) => it !== item) : [...list, item]);

export function NewRun({ choices, onStarted }) {
  const [page, setPage] = useState("");
  const [dropped, setDropped] = useState(null);
  const [networks, setNetworks] = useState(CHOSEN_NETWORKS);
  const [own, setOwn] = useState("");
  const [protocols, setProtocols] = useState(choices.protocols.slice(0, CHOSEN_PROTOCOLS).map(([name]) => name));
  const [effort, setEffort] = useState("10");
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [isOver, setOver] = useState(false);

  async function guarded(work) {
    setProblem(null);
    setBusy(true);
    try { await work(); } catch (error) { setProblem(error.message); } finally { setBusy(false); }
  }

  const take = (file) => file && guarded(async () => {
    const kept = await ask("PUT", `/api/pages/${encodeURIComponent(file.name)}`, file);
    setPage(kept.page);
    setDropped(kept);
  });

  const start = (event) => {
    event.preventDefault();
    guarded(async () => {
      const all = [...networks, ...own.split(";").map((it) => it.trim()).filter(Boolean)];
      const often = effort.endsWith("%") ? { until: effort } : { repetitions: Number(effort) };
      onStarted(await ask("POST", "/api/runs", { page, networks: all, protocols, ...often }));
    });
  };

  // A file dropped beside the field would replace the page.
  useEffect(() => {
    const over = (event) => { event.preventDefault(); setOver(true); };
    const leave = () => setOver(false);
    const drop = (event) => { event.preventDefault(); setOver(false); take(event.dataTransfer.files[0]); };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => { removeEventListener("dragover", over); removeEventListener("dragleave", leave); removeEventListener("drop", drop); };
  }, []);

  const usual = choices.usual_networks.map((it) => it.name);
  const cards = (shown) => html`<div class="cards">${shown.map((network) => html`<${NetworkCard} key=${network.name} network=${network}
    isChosen=${networks.includes(network.name)} onChange=${() => setNetworks(toggled(networks, network.name))} />`)}</div>`;
  return html`
    <h1>Which protocol loads a page fastest, and where?</h1>
    <form onSubmit=${start} aria-busy=${isBusy}>
      <fieldset class="page ${isOver ? "over" : ""}">
        <legend>Page</legend>
        <label>Name, URL or file
          <input type="text" name="page" value=${page} list="pages" required spellcheck=${false} autocomplete="off"
            placeholder="bth2013, https://example.org/, shop.har" onInput=${(event) => { setPage(event.target.value); setDropped(null); }} />
        </label>
        <datalist id="pages">${choices.pages.map((it) => html`<option value=${it.name}>${it.description}</option>`)}</datalist>
        <label>Or a HAR or web archive, dropped anywhere or chosen
          <input type="file" accept=".har,.gz,.wacz,.warc,.toml,.json" onChange=${(event) => take(event.target.files[0])} />
        </label>
        <p class="small" role="status">${dropped ? `${dropped.name}: ${dropped.summary}` : ""}</p>
      </fieldset>
      <fieldset>
        <legend>Networks</legend>
        ${cards(choices.usual_networks)}
        <details><summary>More networks, by name of their source</summary>${cards(choices.networks.filter((it) => !usual.includes(it.name)))}</details>
        <label>Others, separated by semicolons
          <input type="text" name="own" value=${own} spellcheck=${false} placeholder="rtt=80ms,down=5mbit,up=1mbit,loss=1%; 3g,queue=50pkt"
            onInput=${(event) => setOwn(event.target.value)} />
        </label>
      </fieldset>
      <fieldset>
        <legend>Protocols</legend>
        <div class="row">
          ${choices.protocols.map(([name, title]) => html`
            <label class="check"><input type="checkbox" name="protocol" value=${name} checked=${protocols.includes(name)}
              onChange=${() => setProtocols(toggled(protocols, name))} /> ${title}</label>`)}
        </div>
      </fieldset>
      <div class="row">
        <label>Loads of each
          <select name="effort" value=${effort} onChange=${(event) => setEffort(event.target.value)}>
            <option value="3">3: a first look</option>
            <option value="10">10</option>
            <option value="30">30</option>
            <option value="100">100</option>
            <option value="5%">until medians are certain to 5 %</option>
            <option value="2%">until medians are certain to 2 %</option>
          </select>
        </label>
        <button type="submit" class="main" disabled=${isBusy}>Run</button>
      </div>
      <p role="alert" class="problem">${problem}</p>
    </form>`;
}

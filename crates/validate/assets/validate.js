// Draws the charts of a validation from the figures in #data with Observable Plot. All colours are CSS
// variables, so that light, dark and print differ in the style sheet alone.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const base = { style: { background: "transparent", fontSize: "12px" } };
  const symbols = ["circle", "triangle", "square", "diamond"];
  const time = (ms) => (ms >= 1000 ? `${d3.format(".3~g")(ms / 1000)} s` : `${d3.format(".3~g")(ms)} ms`);
  const signed = d3.format("+.1f");
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const colours = (n) => range(n).map((i) => `var(--a${i % 8})`);
  const kindsOf = (points) => [...new Set(points.map((p) => p.kind))].sort();

  const mark = (i, text) => {
    const item = document.createElement("span");
    const box = Object.assign(document.createElement("span"), { className: `arm a${i % 8}` });
    item.append(box, text);
    return item;
  };
  const legend = (names, shapes) => {
    const box = Object.assign(document.createElement("div"), { className: "legend" });
    box.append(...names.map((name, i) => mark(i, name)));
    const shaped = (text) => Object.assign(document.createElement("span"), { textContent: text });
    if (shapes.length > 1) box.append(...shapes.map((shape, i) => shaped(`${["●", "▲", "■", "◆"][i]} ${shape}`)));
    return box;
  };

  // Page load times of a model over those of a reference, both logarithmic.
  const scatter = (id, points, xLabel, yLabel) => {
    const root = document.getElementById(id);
    if (!root || points.length === 0) return;
    const kinds = kindsOf(points);
    const values = points.flatMap((p) => [p.x, p.y]);
    const domain = [d3.min(values) / 1.15, d3.max(values) * 1.15];
    const band = domain.map((x) => ({ x, low: x / 1.1, high: x * 1.1 }));
    const axis = { type: "log", domain, grid: true, tickFormat: time, ticks: 6, labelAnchor: "center", labelArrow: "none" };
    root.replaceChildren(legend(data.protocols, kinds), Plot.plot({
      ...base, width: 720, height: 620, marginLeft: 70, marginBottom: 46,
      ariaLabel: `${yLabel} over ${xLabel}; the figures are in the table`,
      x: { ...axis, label: xLabel },
      y: { ...axis, label: yLabel },
      color: { type: "categorical", domain: range(data.protocols.length), range: colours(data.protocols.length) },
      symbol: { domain: kinds, range: symbols },
      marks: [
        Plot.areaY(band, { x: "x", y1: "low", y2: "high", fill: "var(--soft)", fillOpacity: 0.15, clip: true }),
        Plot.line(domain.map((x) => [x, x]), { stroke: "var(--soft)" }),
        Plot.dot(points, { x: "x", y: "y", stroke: "protocol", symbol: "kind", strokeWidth: 1.8, r: 4.5, tip: true,
          title: (p) => `${p.label}\n${xLabel}: ${time(p.x)}\n${yLabel}: ${time(p.y)}\n${signed((p.y / p.x - 1) * 100)} %` }),
      ],
    }));
  };

  const ratios = (points) => {
    const root = document.getElementById("ratios");
    if (!root || points.length === 0) return;
    const kinds = kindsOf(points);
    const most = d3.max(points, (p) => Math.max(Math.abs(p.x), Math.abs(p.y))) * 1.1 + 0.02;
    const domain = [-most, most];
    const band = domain.map((x) => ({ x, low: x - 0.08, high: x + 0.08 }));
    const axis = { domain, grid: true, labelAnchor: "center", labelArrow: "none" };
    root.replaceChildren(legend([], kinds), Plot.plot({
      ...base, width: 720, height: 620, marginLeft: 70, marginBottom: 46,
      ariaLabel: "Simulated over emulated log ratio of protocols; the figures are in the table",
      x: { ...axis, label: "log ratio, emulated" },
      y: { ...axis, label: "log ratio, simulated" },
      symbol: { domain: kinds, range: symbols },
      marks: [
        Plot.areaY(band, { x: "x", y1: "low", y2: "high", fill: "var(--soft)", fillOpacity: 0.15, clip: true }),
        Plot.ruleX([0], { stroke: "var(--line)" }), Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.line(domain.map((x) => [x, x]), { stroke: "var(--soft)" }),
        Plot.dot(points, { x: "x", y: "y", stroke: "var(--a0)", symbol: "kind", strokeWidth: 1.8, r: 4.5, tip: true,
          title: (p) => `${p.label}\nemulated ${Math.exp(p.x).toFixed(3)}\nsimulated ${Math.exp(p.y).toFixed(3)}` }),
      ],
    }));
  };

  // Empirical distribution functions, errors on a logarithmic axis.
  const errors = (distributions) => {
    const root = document.getElementById("errors");
    if (!root || distributions.every((d) => d.errors.length === 0)) return;
    const least = 0.0005;
    const steps = distributions.flatMap((d, model) => [
      { model, error: least, share: d.errors.filter((e) => e <= least).length / d.errors.length },
      ...d.errors.map((error, i) => ({ model, error: Math.max(error, least), share: (i + 1) / d.errors.length })),
    ]);
    const most = Math.max(0.2, d3.max(steps, (s) => s.error));
    root.replaceChildren(legend(distributions.map((d) => d.model), []), Plot.plot({
      ...base, width: 720, height: 380, marginLeft: 60, marginBottom: 46,
      ariaLabel: "Distribution of errors of the median page load time; the figures are in the table",
      x: { type: "log", domain: [least, most], grid: true, label: "relative error of the median PLT", tickFormat: (e) => `${d3.format(".2~g")(e * 100)} %`, ticks: 8, labelAnchor: "center", labelArrow: "none" },
      y: { domain: [0, 1], grid: true, label: "share of cells", tickFormat: ".0%", labelArrow: "none" },
      color: { type: "categorical", domain: range(distributions.length), range: colours(distributions.length) },
      marks: [
        Plot.line(steps, { x: "error", y: "share", z: "model", stroke: "model", strokeWidth: 2, curve: "step-after" }),
      ],
    }));
  };

  scatter("loads", data.loads, "PLT, emulated", "PLT, simulated");
  ratios(data.ratios);
  errors(data.errors);
  scatter("browser", data.browser, "PLT, Chromium", "PLT, loader");
})();

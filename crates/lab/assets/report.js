// Draws the charts of a report from the figures in #data with Observable Plot. All colours are CSS
// variables, so that light, dark and print differ in the style sheet alone.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const armColours = data.arms.map((_, i) => `var(--a${i % 8})`);
  const symbols = ["circle", "triangle", "square", "diamond", "star", "cross", "wye", "asterisk"];
  const MANY = 6; // facets shown side by side; beyond that one is chosen

  const element = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  const choice = (label, options, chosen, onChange) => {
    const select = element("select");
    options.forEach((text, i) => select.append(element("option", { value: i, textContent: text })));
    select.value = chosen;
    select.addEventListener("change", () => onChange(Number(select.value)));
    return element("label", {}, `${label} `, select);
  };

  const legend = () =>
    element("div", { className: "legend" }, ...data.arms.map((arm, i) =>
      element("span", {}, element("span", { className: `arm a${i % 8}` }), arm)));

  const titled = (caption, plot, multiple) => {
    const box = element("div", { className: multiple ? "multiple" : "" });
    if (caption) box.append(element("p", { className: "caption", textContent: caption }));
    box.append(plot);
    return box;
  };

  const wholeNumber = (n) => d3.format(",.0f")(n).replaceAll(",", "\u202f");
  const time = (n) => (n >= 100 ? wholeNumber(n) : d3.format(".3~g")(n)) + " ms";
  const base = { style: { background: "transparent", fontSize: "12px" } };
  const floorStyle = { stroke: "var(--soft)", strokeDasharray: "4 3", strokeWidth: 1.5 };
  const armScales = {
    color: { type: "categorical", domain: d3.range(data.arms.length), range: armColours },
    symbol: { domain: d3.range(data.arms.length), range: data.arms.map((_, i) => symbols[i % 8]) },
  };

  // Conditions without one of their properties: the small multiples of a curve over it.
  const facetsWithout = (name) => {
    const facets = new Map();
    data.points.forEach((point) => {
      const keys = data.conditions[point.condition].keys;
      const label = keys.filter((k) => k.name !== name).map((k) => k.label).join(", ");
      const x = keys.find((k) => k.name === name).number;
      if (!facets.has(label)) facets.set(label, []);
      facets.get(label).push({ ...point, x });
    });
    return [...facets].map(([label, points]) => ({ label, points: d3.sort(points, (p) => p.x) }));
  };

  const curve = (axis, { label, points }, width, multiple) => {
    const floors = d3.rollups(points.filter((p) => p.floor !== null), (ps) => d3.min(ps, (p) => p.floor), (p) => p.x)
      .map(([x, floor]) => ({ x, floor }));
    return titled(label, Plot.plot({
      ...base, ...armScales, width, height: Math.round(width * 0.62), marginLeft: 56, marginTop: 30, marginBottom: 40,
      ariaLabel: `Page load time over ${axis.name}${label ? `, ${label}` : ""}; the figures are in the table`,
      x: { label: `${axis.name} (${axis.unit})`, ticks: [...new Set(points.map((p) => p.x))].slice(0, 12), tickFormat: (d) => String(d), labelAnchor: "center", labelArrow: "none" },
      y: { label: "page load time (ms)", zero: true, grid: true, nice: true, labelArrow: "none", tickFormat: wholeNumber },
      marks: [
        Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.areaY(points, { x: "x", y1: "p10", y2: "p90", z: "arm", fill: "arm", fillOpacity: 0.18 }),
        Plot.line(floors, { x: "x", y: "floor", ...floorStyle }),
        Plot.line(points, { x: "x", y: "median", z: "arm", stroke: "arm", strokeWidth: 2 }),
        Plot.dot(points, { x: "x", y: "median", fill: "arm", symbol: "arm", r: 3.5, title: (p) => `${data.arms[p.arm]}, ${p.x} ${axis.unit}\nmedian ${time(p.median)}\np10-p90 ${time(p.p10)} - ${time(p.p90)}${p.floor === null ? "" : `\nfloor ${time(p.floor)}`}`, tip: true }),
      ],
    }), multiple);
  };

  const boxPlot = (condition, width, domain, multiple) => {
    const points = data.points.filter((p) => p.condition === condition);
    const loads = points.flatMap((p) => p.plt.map((plt, i) => ({ arm: p.arm, plt, shift: ((i * 7) % 11) / 11 - 0.5 })));
    const floors = points.filter((p) => p.floor !== null).map((p) => p.floor);
    const longest = d3.max(data.arms, (arm) => arm.length);
    return titled(data.conditions[condition].label, Plot.plot({
      ...base, color: armScales.color, width, height: 56 + 48 * points.length, marginLeft: Math.min(220, 24 + 7 * longest), marginBottom: 40, marginTop: 8,
      ariaLabel: `Spread of page load times, ${data.conditions[condition].label || "all"}; the figures are in the table`,
      x: { label: "page load time (ms)", grid: true, nice: true, domain, labelAnchor: "center", labelArrow: "none", tickFormat: wholeNumber, ticks: 6 },
      y: { domain: d3.range(data.arms.length).filter((arm) => points.some((p) => p.arm === arm)), label: null, tickFormat: (arm) => data.arms[arm], padding: 0.55 },
      marks: [
        floors.length ? Plot.ruleX([d3.min(floors)], floorStyle) : null,
        Plot.boxX(loads, { x: "plt", y: "arm", fill: "arm", fillOpacity: 0.25, stroke: "arm", strokeWidth: 1.5, r: 0 }),
        d3.range(-5, 6).map((step) => Plot.dot(loads.filter((l) => Math.round(l.shift * 11) === step), { x: "plt", y: "arm", fill: "arm", fillOpacity: 0.6, r: 2, dy: 17 + step * 0.7 })),
        Plot.tip(loads, Plot.pointer({ x: "plt", y: "arm", title: (l) => `${data.arms[l.arm]}\n${time(l.plt)}` })),
      ],
    }), multiple);
  };

  // What lies below a waterfall has its margins.
  const WATERFALL = { width: 1070, marginLeft: 190, marginRight: 40 };

  const waterfall = (fall, end) => {
    const dense = fall.objects.length > 120;
    const rowHeight = dense ? 6 : 15;
    const bars = fall.objects.flatMap((object, row) => {
      let at = object.start;
      return data.phases.map((phase, i) => ({ row, object, phase, from: at, to: (at += object.phases[i]) })).filter((bar) => bar.to > bar.from);
    });
    const lastByte = (object) => object.start + d3.sum(object.phases);
    const compute = fall.objects.map((object, row) => ({ row, from: lastByte(object), to: object.done })).filter((c) => c.to > c.from);
    const marks = [
      { at: fall.floor, text: "floor", style: floorStyle },
      { at: fall.plt, text: "load", style: { stroke: "var(--ink)", strokeWidth: 1.5 } },
    ].filter((mark) => mark.at !== null);
    const explain = ({ object }) => [object.url, `${object.kind}, ${wholeNumber(object.bytes)} B, ${object.carrier}, status ${object.status}`,
      ...data.phases.map((phase, i) => [phase, object.phases[i]]).filter(([, span]) => span > 0).map(([phase, span]) => `${phase} ${time(span)}`)].join("\n");
    return Plot.plot({
      ...base, ...WATERFALL, height: 64 + rowHeight * fall.objects.length, marginTop: 48, marginBottom: 44,
      ariaLabel: `Waterfall of ${fall.title}; the table below holds the same`,
      x: { label: "time since navigation start (ms)", axis: "both", grid: true, domain: [0, end], labelAnchor: "center", labelArrow: "none", tickFormat: wholeNumber },
      y: { domain: d3.range(fall.objects.length), axis: dense ? null : "left", tickFormat: (row) => fall.objects[row].name, tickSize: 0, label: null, padding: 0.25 },
      color: { domain: data.phases, range: data.phases.map((phase) => `var(--${phase})`) },
      marks: [
        Plot.barX(bars, { x1: "from", x2: "to", y: "row", fill: "phase" }),
        Plot.ruleY(compute, { x1: "from", x2: "to", y: "row", stroke: "var(--soft)", strokeWidth: 1.5 }),
        marks.map((mark) => [
          Plot.ruleX([mark.at], { ...mark.style, insetTop: -16 }),
          Plot.text([mark], { x: "at", text: (m) => `${m.text} ${time(m.at)}`, frameAnchor: "top", dy: -30, textAnchor: "middle", fill: "var(--ink)" }),
        ]),
        Plot.tip(bars, Plot.pointer({ x: "from", y: "row", title: explain, maxRadius: 30 })),
      ],
    });
  };

  const phaseLegend = () =>
    element("div", { className: "legend" }, ...data.phases.map((phase) => {
      const mark = element("span", { className: "arm" });
      mark.style.background = `var(--${phase})`;
      return element("span", {}, mark, phase);
    }));

  const drawCurves = (root, axisIndex = 0, facetIndex = 0) => {
    const axis = data.axes[axisIndex];
    const facets = facetsWithout(axis.name);
    const controls = element("div", { className: "controls" });
    if (data.axes.length > 1) controls.append(choice("over", data.axes.map((a) => a.name), axisIndex, (i) => drawCurves(root, i, 0)));
    const one = facets.length > MANY;
    if (one) controls.append(choice("for", facets.map((f) => f.label), facetIndex, (i) => drawCurves(root, axisIndex, i)));
    const shown = one ? [facets[facetIndex]] : facets;
    const width = shown.length === 1 ? 760 : 520;
    root.replaceChildren(controls, legend(), ...shown.map((facet) => curve(axis, facet, width, shown.length > 1)));
  };

  const drawBoxes = (root, chosen = 0) => {
    const controls = element("div", { className: "controls" });
    const one = data.conditions.length > MANY;
    if (one) controls.append(choice("for", data.conditions.map((c) => c.label), chosen, (i) => drawBoxes(root, i)));
    const shown = one ? [chosen] : d3.range(data.conditions.length);
    const width = shown.length === 1 ? 760 : 520;
    const domain = (condition) => {
      const points = data.points.filter((p) => p.condition === condition);
      const low = d3.min(points, (p) => Math.min(p.plt[0], p.floor ?? Infinity));
      const high = d3.max(points, (p) => p.plt.at(-1));
      const margin = Math.max((high - low) * 0.04, high * 0.002);
      return [low - margin, high + margin];
    };
    root.replaceChildren(controls, ...shown.filter((c) => data.points.some((p) => p.condition === c)).map((c) => boxPlot(c, width, domain(c), shown.length > 1)));
  };

  const drawWaterfalls = () => {
    const end = d3.max(data.waterfalls, (fall) => Math.max(fall.plt ?? 0, d3.max(fall.objects, (o) => o.done) ?? 0)) * 1.03;
    data.waterfalls.forEach((fall, i) => {
      document.getElementById(`waterfall-${i}`).replaceChildren(phaseLegend(), waterfall(fall, end));
      farlinkMechanism(document.getElementById(`mechanism-${i}`), fall, i, { base, ...WATERFALL, end, wholeNumber, time });
    });
  };

  // Paper has no triangles to click on.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details.print").forEach((d) => (d.open = true)));

  const curves = document.getElementById("curves");
  if (curves) drawCurves(curves);
  drawBoxes(document.getElementById("boxes"));
  drawWaterfalls();
})();

// Draws the charts of a report from the figures in #data with Observable Plot. All colours are CSS
// variables, so that light, dark and print differ in the style sheet alone.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLOURS = 16; // that report.css has for arms; beyond them, and from the ninth on, lines are dashed as well
  const armColours = data.arms.map((_, i) => `var(--a${i % COLOURS})`);
  const dashes = ["none", "7 3", "2 3", "10 3 2 3"];
  const dash = (i) => dashes[Math.floor(i / 8) % dashes.length];
  const symbols = ["circle", "triangle", "square", "diamond", "star", "cross", "wye", "asterisk"];
  const MANY = location.hash.startsWith("#figures=") ? Infinity : 6; // facets shown side by side; beyond that one is chosen

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
      element("span", {}, lineSample(i), ` ${arm}`)));

  // A line as the curves draw it, with its mark.
  const lineSample = (i) => {
    const shape = d3.symbol(d3[`symbol${symbols[i % 8][0].toUpperCase()}${symbols[i % 8].slice(1)}`], 44)();
    const sample = element("span");
    sample.innerHTML = `<svg width="30" height="12" viewBox="0 0 30 12" aria-hidden="true"><path d="M0 6H30" stroke="${armColours[i]}" stroke-width="2" stroke-dasharray="${dash(i)}"/><path transform="translate(15 6)" d="${shape}" fill="${armColours[i]}" stroke="${armColours[i]}"/></svg>`;
    return sample;
  };

  const titled = (caption, plot, multiple) => {
    const box = element("div", { className: multiple ? "multiple" : "" });
    if (caption) box.append(element("p", { className: "caption", textContent: caption }));
    box.append(plot);
    return box;
  };

  // The width of a label in a plot.
  const pen = document.createElement("canvas").getContext("2d");
  const textWidth = (text) => {
    pen.font = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Liberation Sans\", sans-serif";
    return pen.measureText(text).width;
  };
  // `#figures=336`: figures of this width for print, which a program reads instead of the page.
  const column = Number(/^#figures=(\d+)$/.exec(location.hash)?.[1]) || 0;
  // Charts are drawn for the width that there is; waterfalls keep theirs and scroll.
  const room = (most) => column || Math.max(280, Math.min(most, document.querySelector("main").clientWidth - 32));

  const wholeNumber = (n) => d3.format(",.0f")(n).replaceAll(",", "\u202f");
  const seconds = d3.format(",.2~f");
  const time = (n) => (n >= 1000 ? `${seconds(n / 1000)} s` : `${n >= 100 ? wholeNumber(n) : d3.format(".3~g")(n)} ms`);
  // An axis of times, which are milliseconds: in seconds where they are large.
  const axisOf = (name, most) => (most >= 2000 ? { label: `${name} (s)`, tickFormat: (n) => seconds(n / 1000) } : { label: `${name} (ms)`, tickFormat: wholeNumber });
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
      y: { ...axisOf("page load time", d3.max(points, (p) => p.p90)), zero: true, grid: true, nice: true, labelArrow: "none" },
      marks: [
        Plot.ruleY([0], { stroke: "var(--line)" }),
        data.arms.length > MANY ? null : Plot.areaY(points, { x: "x", y1: "p10", y2: "p90", z: "arm", fill: "arm", fillOpacity: 0.18 }),
        Plot.line(floors, { x: "x", y: "floor", ...floorStyle }),
        d3.groups(points, (p) => p.arm).map(([arm, its]) => Plot.line(its, { x: "x", y: "median", stroke: "arm", strokeWidth: 2, strokeDasharray: dash(arm) })),
        Plot.dot(points, { x: "x", y: "median", fill: "arm", symbol: "arm", r: 3.5, title: (p) => `${data.arms[p.arm]}, ${p.x} ${axis.unit}\nmedian ${time(p.median)}\np10-p90 ${time(p.p10)} - ${time(p.p90)}${p.floor === null ? "" : `\nfloor ${time(p.floor)}`}`, tip: true }),
      ],
    }), multiple);
  };

  const boxPlot = (condition, width, domain, multiple) => {
    const points = data.points.filter((p) => p.condition === condition);
    const loads = points.flatMap((p) => p.plt.map((plt, i) => ({ arm: p.arm, plt, shift: ((i * 7) % 11) / 11 - 0.5 })));
    const floors = points.filter((p) => p.floor !== null).map((p) => p.floor);
    const names = d3.range(data.arms.length).filter((arm) => points.some((p) => p.arm === arm)).map((arm) => data.arms[arm]);
    const margin = Math.ceil(d3.max(names, textWidth)) + 16;
    // A name longer than a third of the plot stands above its box.
    const above = margin > width / 3;
    return titled(data.conditions[condition].label, Plot.plot({
      ...base, color: armScales.color, width, height: 56 + (above ? 62 : 48) * points.length, marginLeft: above ? 16 : margin, marginBottom: 40, marginTop: above ? 16 : 8, marginRight: 24,
      ariaLabel: `Spread of page load times, ${data.conditions[condition].label || "all"}; the figures are in the table`,
      x: { ...axisOf("page load time", domain[1]), grid: true, nice: true, domain, labelAnchor: "center", labelArrow: "none", ticks: width < 500 ? 4 : 6 },
      y: { domain: d3.range(data.arms.length).filter((arm) => points.some((p) => p.arm === arm)), label: null, axis: above ? null : "left", tickFormat: (arm) => data.arms[arm], padding: 0.55 },
      marks: [
        above ? Plot.text(points, { y: "arm", frameAnchor: "left", textAnchor: "start", dy: -22, text: (p) => data.arms[p.arm], fill: "var(--ink)" }) : null,
        floors.length ? Plot.ruleX([d3.min(floors)], floorStyle) : null,
        Plot.boxX(loads, { x: "plt", y: "arm", fill: "arm", fillOpacity: 0.25, stroke: "arm", strokeWidth: 1.5, r: 0 }),
        d3.range(-5, 6).map((step) => Plot.dot(loads.filter((l) => Math.round(l.shift * 11) === step), { x: "plt", y: "arm", fill: "arm", fillOpacity: 0.6, r: 2, dy: 17 + step * 0.7 })),
        Plot.tip(loads, Plot.pointer({ x: "plt", y: "arm", title: (l) => `${data.arms[l.arm]}\n${time(l.plt)}` })),
      ],
    }), multiple);
  };

  // Mean load times by part, a bar each arm.
  const stack = (condition, width, most, multiple) => {
    const { parts, cells } = data.load_times;
    const rows = cells.filter((cell) => cell.condition === condition);
    const bars = rows.flatMap((row) => {
      let at = 0;
      return parts.map((part, i) => ({ row, part, ms: row.parts[i], from: at, to: (at += Math.max(0, row.parts[i])) })).filter((bar) => bar.to > bar.from);
    });
    const margin = Math.ceil(d3.max(rows, (row) => textWidth(data.arms[row.arm]))) + 16;
    const above = margin > width / 3;
    const explain = ({ row, part, ms }) => `${data.arms[row.arm]}\n${part.words}: ${time(ms)} of ${time(row.total)}`;
    return titled(data.conditions[condition].label, Plot.plot({
      ...base, width, height: 56 + (above ? 52 : 34) * rows.length, marginLeft: above ? 16 : margin, marginBottom: 40, marginTop: above ? 16 : 8, marginRight: 60,
      ariaLabel: `Mean load time by cause, ${data.conditions[condition].label || "all"}; the table below has the same data`,
      x: { ...axisOf("mean load time", most), grid: true, domain: [0, most], labelAnchor: "center", labelArrow: "none", ticks: width < 500 ? 4 : 6 },
      y: { domain: rows.map((row) => row.arm), label: null, axis: above ? null : "left", tickFormat: (arm) => data.arms[arm], padding: above ? 0.5 : 0.3 },
      color: { domain: parts.map((part) => part.name), range: parts.map((part) => `var(--c-${part.name})`) },
      marks: [
        above ? Plot.text(rows, { y: "arm", frameAnchor: "left", textAnchor: "start", dy: -20, text: (row) => data.arms[row.arm], fill: "var(--ink)" }) : null,
        Plot.barX(bars, { x1: "from", x2: "to", y: (bar) => bar.row.arm, fill: (bar) => bar.part.name, insetLeft: 0.5 }),
        Plot.text(rows, { x: (row) => d3.sum(row.parts, (ms) => Math.max(0, ms)), y: "arm", text: (row) => time(row.total), textAnchor: "start", dx: 5, fill: "var(--ink)" }),
        Plot.tip(bars, Plot.pointerX({ x: (bar) => (bar.from + bar.to) / 2, y: (bar) => bar.row.arm, title: explain })),
      ],
    }), multiple);
  };

  const stackLegend = () =>
    element("div", { className: "legend" }, ...data.load_times.parts.map((part) => {
      const mark = element("span", { className: "arm" });
      mark.style.background = `var(--c-${part.name})`;
      return element("span", {}, mark, part.words);
    }));

  const drawCauses = (root, chosen) => {
    const known = d3.range(data.conditions.length).filter((c) => data.load_times.cells.some((cell) => cell.condition === c));
    const one = known.length > MANY;
    const shown = one ? [chosen ?? known[0]] : known;
    const controls = element("div", { className: "controls" });
    if (one) controls.append(choice("for", data.conditions.map((c) => c.label), shown[0], (i) => drawCauses(root, i)));
    const width = room(shown.length === 1 ? 1000 : 540);
    const most = (condition) => d3.max(data.load_times.cells.filter((cell) => cell.condition === condition), (cell) => d3.sum(cell.parts, (ms) => Math.max(0, ms)));
    root.replaceChildren(controls, stackLegend(), ...shown.map((c) => stack(c, width, most(c), shown.length > 1)));
    const columns = ["condition", "arm", ...data.load_times.parts.map((part) => part.name), "total"];
    const rows = data.load_times.cells.map((cell) => [data.conditions[cell.condition].label, data.arms[cell.arm], ...cell.parts, cell.total]);
    downloads(root, "load-time-by-cause", columns, rows);
  };

  // Downloads of a section's figures: each as SVG and PNG with the colours on the screen, the data as CSV. Nothing is fetched.
  const downloads = (root, name, columns, rows) => {
    const save = (file, url) => element("a", { href: url, download: file }).click();
    const quoted = (cell) => (/[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell ?? ""));
    const csv = () => save(`${name}.csv`, `data:text/csv;charset=utf-8,${encodeURIComponent([columns, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n")}`);
    const figures = () => [...root.querySelectorAll("svg")].filter((svg) => svg.clientWidth > 200);
    const each = (write) => figures().forEach((svg, i) => write(standalone(svg), figures().length > 1 ? `${name}-${i + 1}` : name));
    const png = (svg, file) => {
      const image = new Image();
      image.onload = () => {
        const canvas = element("canvas", { width: svg.width * 2, height: svg.height * 2 });
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        save(`${file}.png`, canvas.toDataURL("image/png"));
      };
      image.src = svg.url;
    };
    const button = (text, onclick) => element("button", { type: "button", textContent: text, onclick });
    root.append(element("div", { className: "downloads" },
      button("SVG", () => each((svg, file) => save(`${file}.svg`, svg.url))), button("PNG", () => each(png)), button("CSV", csv)));
  };

  // A figure that stands alone: colours and fonts as they are here, on paper of this colour.
  const standalone = (svg) => {
    const copy = svg.cloneNode(true);
    const [from, to] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      for (const property of ["fill", "stroke"]) to[i].setAttribute(property, style[property]);
      if (node.tagName === "text") ["font-family", "font-size", "font-weight"].forEach((property) => to[i].setAttribute(property, style.getPropertyValue(property)));
    });
    const { width, height } = svg.getBoundingClientRect();
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    const text = new XMLSerializer().serializeToString(copy);
    return { width, height, text, url: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}` };
  };

  // What lies below a waterfall has its margins.
  const WATERFALL = { width: 1132, marginLeft: 290, marginRight: 40 };

  // Each row's name, host and size; a redirect has an arrow, a failure a cross.
  const rowLabels = (fall) => {
    const rows = fall.objects.map((object, row) => ({ object, row }));
    const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}\u2026` : text);
    const sign = (object) => (object.error ? "\u00d7 " : object.status >= 300 && object.status < 400 && object.status !== 304 ? "\u21aa " : "");
    const at = { y: "row", frameAnchor: "left", textAnchor: "start", fontSize: 11 };
    const whole = ({ object }) => `${object.url}\n${object.kind}, ${wholeNumber(object.bytes)} B, status ${object.status}`;
    return [
      Plot.text(rows, { ...at, dx: 4 - WATERFALL.marginLeft, text: ({ object }) => sign(object) + cut(object.name, 20), title: whole, fill: ({ object }) => (object.error ? "var(--bad)" : "var(--ink)") }),
      Plot.text(rows, { ...at, dx: 132 - WATERFALL.marginLeft, text: ({ object }) => cut(object.host, 17), title: whole, fill: "var(--soft)" }),
      Plot.text(rows, { ...at, textAnchor: "end", dx: -6, text: ({ object }) => size(object.bytes), title: whole, fill: "var(--soft)" }),
    ];
  };
  const shortLabels = (fall) => {
    const rows = fall.objects.flatMap((object, row) => (object ? [{ object, row }] : []));
    const cut = (text) => (text.length > 22 ? `${text.slice(0, 21)}\u2026` : text);
    return Plot.text(rows, { y: "row", frameAnchor: "left", textAnchor: "end", fontSize: 10, dx: -5, text: ({ object }) => cut(object.name), title: ({ object }) => object.url, fill: "var(--ink)" });
  };
  const size = (bytes) => (bytes >= 1e6 ? `${d3.format(".1f")(bytes / 1e6)} MB` : bytes >= 1e3 ? `${d3.format(".0f")(bytes / 1e3)} KB` : `${bytes} B`);

  const waterfall = (fall, end, frame = WATERFALL, labels = "full") => {
    const dense = fall.objects.length > 120;
    const rowHeight = dense ? 6 : labels === "full" ? 15 : 11;
    const bars = fall.objects.flatMap((object, row) => {
      if (!object) return [];
      let at = object.start;
      return data.phases.map((phase, i) => ({ row, object, phase, from: at, to: (at += object.phases[i]) })).filter((bar) => bar.to > bar.from);
    });
    const lastByte = (object) => object.start + d3.sum(object.phases);
    const compute = fall.objects.flatMap((object, row) => (object ? [{ row, from: lastByte(object), to: object.done }] : [])).filter((c) => c.to > c.from);
    const marks = [
      { at: fall.floor, text: "floor", style: floorStyle },
      { at: fall.plt, text: "load", style: { stroke: "var(--ink)", strokeWidth: 1.5 } },
    ].filter((mark) => mark.at !== null);
    const explain = ({ object }) => [object.url, `${object.kind}, ${wholeNumber(object.bytes)} B, ${object.carrier}, status ${object.status}`, ...(object.error ? [`failed: ${object.error}`] : []),
      ...data.phases.map((phase, i) => [phase, object.phases[i]]).filter(([, span]) => span > 0).map(([phase, span]) => `${phase} ${time(span)}`)].join("\n");
    return Plot.plot({
      ...base, ...frame, height: 92 + rowHeight * fall.objects.length, marginTop: 48, marginBottom: 44,
      ariaLabel: `Waterfall of ${fall.title}; the table below has the same data`,
      x: { ...axisOf("time since navigation start", end), axis: "both", grid: true, domain: [0, end], labelAnchor: "center", labelArrow: "none" },
      y: { domain: d3.range(fall.objects.length), axis: null, padding: 0.25 },
      color: { domain: data.phases, range: data.phases.map((phase) => `var(--${phase})`) },
      marks: [
        dense || labels === "none" ? null : labels === "full" ? rowLabels(fall) : shortLabels(fall),
        Plot.barX(bars, { x1: "from", x2: "to", y: "row", fill: "phase", title: explain }),
        Plot.ruleY(compute, { x1: "from", x2: "to", y: "row", stroke: "var(--soft)", strokeWidth: 1.5 }),
        marks.map((mark, i) => [
          Plot.ruleX([mark.at], { ...mark.style, insetTop: -16 }),
          Plot.text([mark], { x: "at", text: (m) => `${m.text} ${time(m.at)}`, frameAnchor: "top", dy: marks.length - i > 1 ? -38 : -26, dx: mark.at > 0.85 * end ? 4 : 0, textAnchor: mark.at > 0.85 * end ? "end" : "middle", fill: "var(--ink)" }),
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
    const width = room(shown.length === 1 ? 760 : 520);
    root.replaceChildren(controls, legend(), ...shown.map((facet) => curve(axis, facet, width, shown.length > 1)));
    loadTimes(root, "load-times");
  };

  const drawBoxes = (root, chosen = 0) => {
    const controls = element("div", { className: "controls" });
    const one = data.conditions.length > MANY;
    if (one) controls.append(choice("for", data.conditions.map((c) => c.label), chosen, (i) => drawBoxes(root, i)));
    const shown = one ? [chosen] : d3.range(data.conditions.length);
    const width = room(shown.length === 1 ? 760 : 520);
    const domain = (condition) => {
      const points = data.points.filter((p) => p.condition === condition);
      const low = d3.min(points, (p) => Math.min(p.plt[0], p.floor ?? Infinity));
      const high = d3.max(points, (p) => p.plt.at(-1));
      const margin = Math.max((high - low) * 0.04, high * 0.002);
      return [low - margin, high + margin];
    };
    root.replaceChildren(controls, ...shown.filter((c) => data.points.some((p) => p.condition === c)).map((c) => boxPlot(c, width, domain(c), shown.length > 1)));
    loadTimes(root, "spread");
  };

  // Downloads of figures whose data are the load times.
  const loadTimes = (root, name) =>
    downloads(root, name, ["condition", "arm", "p10_ms", "median_ms", "p90_ms", "floor_ms", "loads_ms"],
      data.points.map((p) => [data.conditions[p.condition].label, data.arms[p.arm], p.p10, p.median, p.p90, p.floor, p.plt.join(" ")]));

  // Waterfalls beside each other on one time axis, an object in the same row of all of them, with what lay below.
  const drawBeside = (end) => {
    const root = document.getElementById("beside");
    if (!root) return;
    const falls = data.waterfalls;
    // The n-th request for a URL is in the row of the n-th of the others.
    const keyed = falls.map((fall) => {
      const seen = new Map();
      return new Map(fall.objects.map((object) => {
        seen.set(object.url, (seen.get(object.url) ?? 0) + 1);
        return [`${object.url} ${seen.get(object.url)}`, object];
      }));
    });
    const rows = [...new Set(keyed.flatMap((objects) => [...objects.keys()]))];
    const marginLeft = 132, gap = 12, plain = 46;
    const each = Math.max(240, (document.querySelector("main").clientWidth - 32 - marginLeft - gap * falls.length) / falls.length - plain);
    const columns = falls.map((fall, i) => {
      const margins = { marginLeft: i ? plain : marginLeft, marginRight: 14 };
      const frame = { ...margins, width: each + margins.marginLeft + margins.marginRight };
      const objects = rows.map((row) => keyed[i].get(row) ?? null);
      const below = element("div");
      const column = element("div", { className: "column" }, element("p", { className: "caption", textContent: fall.title }), waterfall({ ...fall, objects }, end, frame, i ? "none" : "short"), below);
      farlinkMechanism(below, fall, i, { base, ...frame, end, axisOf, time, inside: true, only: 1 });
      return column;
    });
    const scroll = element("div", { className: "scroll beside", tabIndex: 0 }, ...columns);
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", "Waterfalls side by side");
    root.replaceChildren(element("h3", { textContent: "Side by side" }), phaseLegend(), scroll, element("h3", { textContent: "One by one" }));
  };

  const drawWaterfalls = () => {
    const end = d3.max(data.waterfalls, (fall) => Math.max(fall.plt ?? 0, d3.max(fall.objects, (o) => o.done) ?? 0)) * 1.03;
    drawBeside(end);
    data.waterfalls.forEach((fall, i) => {
      document.getElementById(`waterfall-${i}`).replaceChildren(phaseLegend(), element("div", { className: "scroll", tabIndex: 0 }, waterfall(fall, end)));
      downloads(document.getElementById(`waterfall-${i}`), `waterfall-${i + 1}`, ["object", "start_ms", ...data.phases.map((phase) => `${phase}_ms`), "done_ms", "bytes", "status"],
        fall.objects.map((o) => [o.url, o.start, ...o.phases, o.done, o.bytes, o.status]));
      farlinkMechanism(document.getElementById(`mechanism-${i}`), fall, i, { base, ...WATERFALL, end, axisOf, time });
    });
  };

  // A figure with its caption and legend above it, as one SVG.
  const captioned = (svg, caption, legend) => {
    const { width, height, text } = standalone(svg);
    const ink = getComputedStyle(document.body).color;
    const font = `font-family="system-ui, 'Liberation Sans', sans-serif" font-size="12" fill="${ink}"`;
    const escaped = (words) => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    const parts = [];
    let [x, y] = [0, 4];
    if (caption) parts.push(`<text x="0" y="${(y += 12)}" ${font} font-weight="600">${escaped(caption)}</text>`);
    if (legend.length) y += 16;
    legend.forEach(({ words, colour, dash, shape }) => {
      const space = 24 + textWidth(words) + 12;
      if (x > 0 && x + space > width) [x, y] = [0, y + 16];
      parts.push(shape
        ? `<path d="M${x} ${y - 4}h18" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/><path transform="translate(${x + 9} ${y - 4})" d="${shape}" fill="${colour}"/>`
        : `<rect x="${x}" y="${y - 9}" width="18" height="9" fill="${colour}"/>`, `<text x="${x + 24}" y="${y}" ${font}>${escaped(words)}</text>`);
      x += space;
    });
    y += 8;
    const whole = Math.ceil(height + y);
    return { width, height: whole, text: `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${whole}" viewBox="0 0 ${width} ${whole}"><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}${text.replace("<svg", `<svg x="0" y="${y}"`)}</svg>` };
  };

  // The figures for print in place of the page.
  const printFigures = () => {
    const colour = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
    const arms = data.arms.map((words, i) => ({ words, colour: colour(`--a${i % COLOURS}`), dash: dash(i), shape: d3.symbol(d3[`symbol${symbols[i % 8][0].toUpperCase()}${symbols[i % 8].slice(1)}`], 44)() }));
    const causes = data.load_times.parts.map((part) => ({ words: part.words, colour: colour(`--c-${part.name}`) }));
    const figures = [["curves", "load-time", arms], ["causes", "load-time-by-cause", causes], ["boxes", "spread", []]].flatMap(([id, name, legend]) => {
      const drawn = [...(document.getElementById(id)?.querySelectorAll("svg") ?? [])].filter((svg) => svg.clientWidth > 200);
      return drawn.map((svg, i) => ({ name: drawn.length > 1 ? `${name}-${i + 1}` : name, ...captioned(svg, svg.parentElement.querySelector(".caption")?.textContent ?? "", legend) }));
    });
    document.body.replaceChildren(element("script", { type: "application/json", id: "figures", textContent: JSON.stringify(figures).replaceAll("<", "\\u003c") }));
  };

  // Paper has no triangles to click on.
  window.addEventListener("beforeprint", () => document.querySelectorAll("details.print").forEach((d) => (d.open = true)));

  // The sections that there are, each one click away.
  const nav = document.getElementById("contents");
  document.querySelectorAll("main > section > h2").forEach((heading, i) => {
    heading.parentElement.id = `section-${i}`;
    nav.append(element("a", { href: `#section-${i}`, textContent: heading.textContent }));
  });

  const curves = document.getElementById("curves");
  if (curves) drawCurves(curves);
  const causes = document.getElementById("causes");
  if (causes) drawCauses(causes);
  drawBoxes(document.getElementById("boxes"));
  if (column) printFigures();
  else drawWaterfalls();
})();

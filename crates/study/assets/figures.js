// Draws a study's figures with Observable Plot from the rows that stand in the document as CSV. All colours are CSS variables; what
// they tell apart, marks and dashes tell apart as well, so that a print in grey can be read.
"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("data").textContent);
  const SYMBOLS = ["circle", "triangle", "square", "diamond", "star", "cross", "wye", "asterisk"];
  const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "6 2 1 2"];
  const STEPS = { "to the origin's first byte": "var(--send)", download: "var(--wait)", "to the client": "var(--receive)" };
  const PARTS = { init: "var(--blocked)", send: "var(--send)", wait: "var(--wait)", receive: "var(--receive)" };
  const LEVELS = { rest: "var(--rest)", low: "var(--low)", full: "var(--full)", promotion: "var(--promotion)" };
  const NAMES = new Set(["panel", "line", "place", "name", "part"]);
  const WINDOWS = ["congestion window", "slow start threshold", "in the network"];
  const AGAIN = "sent again";
  const RADIO = { rest: "radio at rest", low: "low", full: "full", promotion: "promotion: packets wait" };
  const BEFORE = -10; // seconds before navigation start that windows are drawn from; the data has more
  const LONG = 120; // seconds; beyond that each line has a plot of its own
  const base = { style: { background: "transparent", fontSize: "12px" } };

  // d3.csvParse makes functions from text, which the document's policy forbids.
  const table = (id) => {
    const [names, ...lines] = d3.csvParseRows(document.getElementById(`data-${id}`).textContent.trim());
    const value = (name, text) => (NAMES.has(name) ? text : text === "" ? null : Number(text));
    return (lines || []).map((line) => Object.fromEntries(names.map((name, i) => [name, value(name, line[i])])));
  };

  const html = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const svg = (content) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    Object.entries({ width: 34, height: 12, viewBox: "0 0 34 12", "aria-hidden": "true" }).forEach(([name, value]) => node.setAttribute(name, value));
    node.innerHTML = content;
    return node;
  };
  const colour = (i) => `var(--a${i % 8})`;
  const dash = (i) => DASHES[i % 8];
  const symbolOf = (i) => `symbol${SYMBOLS[i % 8][0].toUpperCase()}${SYMBOLS[i % 8].slice(1)}`;
  const short = d3.format(".4~g");
  const tick = (n) => (Math.abs(n) >= 1e4 ? d3.format("~s")(n) : String(+n.toPrecision(6)));
  const item = (sign, text) => html("span", {}, sign, ` ${text}`);
  const legendOf = (items) => html("div", { className: "legend" }, ...items);

  const lineSign = (i, marked, dashed) => svg(`<path d="M0 6H34" fill="none" stroke="${colour(i)}" stroke-width="2" stroke-dasharray="${dashed ? dash(i) : "none"}"/>${marked ? `<path transform="translate(17 6)" d="${d3.symbol(d3[symbolOf(i)], 44)()}" fill="${colour(i)}"/>` : ""}`);
  const markItems = ({ marks }) => (marks.length ? [item(svg(`<path d="M17 0V12" stroke="var(--ink)" stroke-dasharray="3 2"/>`), `marked: ${marks.map((mark) => mark.name).join(", ")}`)] : []);
  const markRules = ({ marks }) => Plot.ruleX(marks, { x: "at", stroke: "var(--ink)", strokeDasharray: "3 2" });
  const boxSign = (fill) => svg(`<rect x="6" width="22" height="12" fill="${fill}" stroke="var(--ink)" stroke-width=".5"/>`);

  const scales = (lines) => ({
    color: { type: "categorical", domain: lines, range: lines.map((_, i) => colour(i)) },
    symbol: { domain: lines, range: lines.map((_, i) => SYMBOLS[i % 8]) },
  });
  const axisX = ({ x, scale }, values) => ({
    label: x, type: scale === "log" ? "log" : "linear", labelAnchor: "center", labelArrow: "none", tickFormat: tick,
    ...(scale === "log" || !values || values.length > 12 ? { ticks: 8 } : { ticks: values }),
  });
  const axisY = (y, rest = {}) => ({ label: y, grid: true, nice: true, labelArrow: "none", tickFormat: tick, ...rest });
  const said = (row) => `${short(row.y)}${row.low === null ? "" : `\n${short(row.low)} to ${short(row.high)}`}`;

  // A line that is dashed by its place among the lines.
  const each = (lines, rows, draw) => lines.map((line, i) => draw(rows.filter((row) => row.line === line), i));

  const shapes = {
    lines: {
      legend: (figure) => [...figure.lines.map((line, i) => item(lineSign(i, true, true), line)), ...markItems(figure)],
      plot: (figure, rows, size) => Plot.plot({
        ...base, ...size, ...scales(figure.lines),
        x: axisX(figure, [...new Set(rows.map((row) => row.x))]), y: axisY(figure.y, { zero: d3.min(rows, (row) => row.y) >= 0 }),
        marks: [
          Plot.ruleY([0], { stroke: "var(--soft)" }),
          markRules(figure),
          Plot.areaY(rows.filter((row) => row.low !== null), { x: "x", y1: "low", y2: "high", z: "line", fill: "line", fillOpacity: 0.16 }),
          each(figure.lines, rows, (own, i) => Plot.line(own, { x: "x", y: "y", stroke: colour(i), strokeWidth: 1.8, strokeDasharray: dash(i) })),
          Plot.dot(rows, { x: "x", y: "y", fill: "line", symbol: "line", r: 3.4, tip: true, title: (row) => `${row.line} at ${tick(row.x)}\n${said(row)}` }),
        ],
      }),
    },
    compared: {
      legend: (figure) => [
        ...figure.lines.map((line, i) => item(lineSign(i, true, false), line)),
        item(svg(`<path d="M0 6H34" stroke="var(--ink)" stroke-width="1.5" stroke-dasharray="5 3"/><circle cx="17" cy="6" r="3.5" fill="var(--paper)" stroke="var(--ink)"/>`), "as published, with its interval"),
      ],
      plot: (figure, rows, size) => {
        const theirs = rows.filter((row) => row.published !== null);
        const top = Plot.plot({
          ...base, ...size, ...scales(figure.lines), x: axisX(figure), y: axisY(figure.y, { zero: true }),
          marks: [
            Plot.ruleY([0], { stroke: "var(--soft)" }),
            Plot.areaY(rows.filter((row) => row.low !== null), { x: "x", y1: "low", y2: "high", z: "line", fill: "line", fillOpacity: 0.2 }),
            Plot.ruleX(theirs.filter((row) => row.published_low !== null), { x: "x", y1: "published_low", y2: "published_high", stroke: "line", strokeWidth: 1 }),
            Plot.line(theirs, { x: "x", y: "published", stroke: "line", strokeWidth: 1.3, strokeDasharray: "5 3" }),
            Plot.dot(theirs, { x: "x", y: "published", stroke: "line", symbol: "line", fill: "var(--paper)", r: 3.2 }),
            Plot.line(rows, { x: "x", y: "y", stroke: "line", strokeWidth: 2 }),
            Plot.dot(rows, { x: "x", y: "y", fill: "line", symbol: "line", r: 3.4, tip: true,
              title: (row) => `${row.line} at ${tick(row.x)}\nours ${said(row)}${row.published === null ? "" : `\npublished ${short(row.published)}\nerror ${d3.format("+.1f")(row.error_percent)} %`}` }),
          ],
        });
        const below = Plot.plot({
          ...base, ...size, height: 170, ...scales(figure.lines), x: axisX(figure), y: axisY("ours less theirs (%)"),
          marks: [
            Plot.ruleY([0], { stroke: "var(--ink)" }),
            Plot.line(theirs, { x: "x", y: "error_percent", stroke: "line" }),
            Plot.dot(theirs, { x: "x", y: "error_percent", fill: "line", symbol: "line", r: 3 }),
          ],
        });
        return html("div", {}, top, below);
      },
    },
    steps: {
      legend: (figure) => [
        ...figure.lines.map((line, i) => item(lineSign(i, false, true), line)),
        ...markItems(figure),
      ],
      plot: (figure, rows, size) => {
        const shown = figure.scale === "log" ? rows.filter((row) => row.x > 0) : rows;
        const from = figure.lines.flatMap((line) => rows.filter((row) => row.line === line).slice(0, 1)).map((row) => ({ ...row, share_percent: 0 }));
        const all = figure.scale === "log" ? shown : [...from, ...rows];
        return Plot.plot({
          ...base, ...size, x: { ...axisX(figure), nice: figure.scale !== "log" }, y: axisY(figure.y, { domain: [0, 100] }),
          marks: [
            markRules(figure),
            each(figure.lines, all, (own, i) => Plot.line(own, { x: "x", y: "share_percent", curve: "step-after", stroke: colour(i), strokeWidth: 1.9, strokeDasharray: dash(i) })),
            Plot.tip(shown, Plot.pointerX({ x: "x", y: "share_percent", title: (row) => `${row.line}\n${short(row.share_percent)} % have at most ${short(row.x)}` })),
          ],
        });
      },
    },
    seconds: {
      legend: (figure) => figure.lines.map((line, i) => item(lineSign(i, false, true), line)),
      plot: (figure, rows, size) => {
        const begin = figure.lines.map((line) => ({ line, x: 0, y: 0 }));
        const all = [...begin, ...rows];
        // What goes up and down many times is no picture on top of each other.
        const long = d3.max(rows, (row) => row.x) > LONG;
        const where = long ? { fy: "line" } : {};
        return Plot.plot({
          ...base, ...size, width: 1100, height: long ? 60 + 180 * figure.lines.length : 300, x: axisX(figure), y: axisY(figure.y, { zero: true }),
          fy: { domain: figure.lines, label: null, axis: "right" }, marginRight: long ? 60 : 16,
          marks: [
            Plot.ruleY([0], { stroke: "var(--soft)" }),
            each(figure.lines, all, (own, i) => Plot.line(own, { ...where, x: "x", y: "y", curve: "step-before", stroke: colour(i), strokeWidth: 1.5, strokeDasharray: long ? "none" : dash(i) })),
            Plot.tip(rows, Plot.pointerX({ ...where, x: "x", y: "y", title: (row) => `${row.line}, second ${row.x}\n${short(row.y)}` })),
          ],
        });
      },
    },
    histogram: {
      legend: (figure) => figure.lines.map((line, i) => item(lineSign(i, false, true), line)),
      plot: (figure, rows, size) => Plot.plot({
        ...base, ...size, x: { ...axisX(figure), ticks: 10 }, y: axisY(figure.y, { zero: true }),
        marks: [
          Plot.ruleY([0], { stroke: "var(--soft)" }),
          each(figure.lines, rows, (own, i) => Plot.rectY(own, { x1: "x", x2: "until", y: "y", fill: colour(i), fillOpacity: 0.18 })),
          each(figure.lines, rows, (own, i) => Plot.line([...own, ...own.slice(-1).map((row) => ({ ...row, x: row.until }))], { x: "x", y: "y", curve: "step-after", stroke: colour(i), strokeWidth: 1.8, strokeDasharray: dash(i) })),
          Plot.tip(rows, Plot.pointerX({ x: (row) => (row.x + row.until) / 2, y: "y", title: (row) => `${row.line}, ${row.x} to ${row.until - 1} bytes\n${short(row.y)} %` })),
        ],
      }),
    },
    windows: {
      legend: (figure, rows) => [
        ...WINDOWS.map((line, i) => item(lineSign(i, false, true), line)),
        ...(rows.some((row) => row.line === AGAIN) ? [item(svg(`<path d="M12 1L22 11M22 1L12 11" stroke="var(--receive)" stroke-width="2"/>`), AGAIN)] : []),
        ...Object.entries(LEVELS).filter(([level]) => rows.some((row) => row.part === level)).map(([level, fill]) => item(boxSign(fill), RADIO[level])),
      ],
      plot: (figure, rows, size) => {
        const radio = rows.filter((row) => row.line === "radio");
        const domain = [Math.max(BEFORE, d3.min(rows, (row) => row.x)), d3.max(rows, (row) => row.until ?? row.x)];
        const top = Plot.plot({
          ...base, ...size, x: { ...axisX(figure), domain }, y: axisY(figure.y, { zero: true }),
          marks: [
            Plot.ruleY([0], { stroke: "var(--soft)" }),
            Plot.ruleX([0], { stroke: "var(--soft)", strokeDasharray: "3 2" }),
            each(WINDOWS, rows, (own, i) => Plot.line(own, { clip: true, x: "x", y: "y", curve: "step-after", stroke: colour(i), strokeWidth: 1.5, strokeDasharray: dash(i) })),
            Plot.dot(rows.filter((row) => row.line === AGAIN && row.x >= domain[0]), { x: "x", y: 0, symbol: "times", stroke: "var(--receive)", strokeWidth: 1.6, r: 3.6, title: (row) => `at ${short(row.x)} s: ${row.y} sent again` }),
            Plot.tip(rows.filter((row) => WINDOWS.includes(row.line) && row.x >= domain[0]), Plot.pointer({ x: "x", y: "y", title: (row) => `${row.line} from ${short(row.x)} s\n${row.y} segments` })),
          ],
        });
        if (!radio.length) return top;
        const below = Plot.plot({
          ...base, ...size, height: 46, marginTop: 2, marginBottom: 18, x: { axis: null, domain }, y: { axis: null },
          marks: [Plot.rect(radio.filter((row) => row.until > domain[0]), { clip: true, x1: "x", x2: "until", y1: 0, y2: 1, fill: (row) => LEVELS[row.part], stroke: "var(--paper)", tip: true, title: (row) => `${row.name}\n${short(row.x)} to ${short(row.until)} s` })],
        });
        return html("div", {}, top, below);
      },
    },
    timelines: {
      legend: (figure, rows) => Object.entries({ ...PARTS, ...STEPS }).filter(([part]) => rows.some((row) => row.part === part)).map(([part, fill]) => item(boxSign(fill), part)),
      plot: (figure, rows, size) => html("div", { className: "charts" }, ...figure.lines.map((line) => {
        const own = rows.filter((row) => row.line === line);
        const all = { ...PARTS, ...STEPS };
        const count = d3.max(own, (row) => row.row) || 1;
        return Plot.plot({
          ...base, ...size, width: 540, height: Math.max(220, Math.min(640, 70 + 9 * count)), title: line,
          x: { ...axisX(figure), grid: true, domain: [0, d3.max(rows, (row) => row.to)] },
          y: { label: "objects, in the order of requests", domain: [count + 0.5, 0.5], labelArrow: "none", tickFormat: tick, ticks: 8 },
          color: { domain: Object.keys(all), range: Object.values(all) },
          marks: [Plot.rect(own, { x1: "from", x2: "to", y1: (row) => row.row - 0.4, y2: (row) => row.row + 0.4, fill: "part", tip: true, title: (row) => `${row.name}\n${row.part} ${short(row.from)} to ${short(row.to)} s` })],
        });
      })),
    },
    numbers: {
      legend: (figure) => figure.lines.map((line, i) => item(svg(`<path transform="translate(17 6)" d="${d3.symbol(d3[symbolOf(i)], 60)()}" fill="${colour(i)}"/>`), line)),
      plot: (figure, rows, size) => {
        const places = [...new Set(rows.map((row) => row.place))];
        return Plot.plot({
          ...base, ...size, width: Math.min(size.width, 120 + 110 * places.length), ...scales(figure.lines), y: axisY(figure.y, { zero: true }),
          fx: { domain: places, label: null, axis: "bottom", padding: 0.25 }, x: { domain: figure.lines, axis: null, padding: 0.5 },
          marks: [
            Plot.ruleY([0], { stroke: "var(--soft)" }),
            Plot.barY(rows, { fx: "place", x: "line", y: "y", fill: "line", fillOpacity: 0.28, stroke: "line" }),
            Plot.ruleX(rows.filter((row) => row.low !== null), { fx: "place", x: "line", y1: "low", y2: "high", stroke: "var(--ink)", strokeWidth: 1.5 }),
            Plot.dot(rows, { fx: "place", x: "line", y: "y", fill: "line", symbol: "line", r: 4.2, tip: true, title: (row) => `${row.line}, ${row.place}\n${said(row)}` }),
          ],
        });
      },
    },
    boxes: {
      legend: (figure) => [...figure.lines.map((line, i) => item(boxSign(colour(i)), line)), item(svg(`<path transform="translate(17 6)" d="${d3.symbol(d3.symbolDiamond, 40)()}" fill="var(--paper)" stroke="var(--ink)"/>`), "mean"), html("span", {}, `from left to right: ${figure.lines.join(", ")}`)],
      plot: (figure, rows, size) => {
        const places = [...new Set(rows.map((row) => row.place))];
        const explain = (row) => `${row.line}, ${row.place}: ${row.loads} loads\nleast ${short(row.least)}, quartiles ${short(row.q1)}, ${short(row.median)}, ${short(row.q3)}, most ${short(row.most)}\nmean ${short(row.mean)}`;
        const where = { fx: "place", x: "line" };
        return Plot.plot({
          ...base, ...size, width: Math.min(size.width, 130 + 26 * places.length * (figure.lines.length + 0.6)), marginBottom: 44, ...scales(figure.lines), y: axisY(figure.y, { zero: true }),
          fx: { domain: places, label: figure.x || null, labelAnchor: "center", labelArrow: "none", axis: "bottom", padding: 0.18 }, x: { domain: figure.lines, axis: null, padding: 0.25 },
          marks: [
            Plot.ruleX(rows, { ...where, y1: "least", y2: "most", stroke: "var(--ink)" }),
            Plot.tickY(rows, { ...where, y: "least", stroke: "var(--ink)", inset: 2 }),
            Plot.tickY(rows, { ...where, y: "most", stroke: "var(--ink)", inset: 2 }),
            Plot.barY(rows, { ...where, y1: "q1", y2: "q3", fill: "line", stroke: "var(--ink)", strokeWidth: 0.6, title: explain, tip: true }),
            Plot.tickY(rows, { ...where, y: "median", stroke: "var(--paper)", strokeWidth: 2.4 }),
            Plot.dot(rows, { ...where, y: "mean", symbol: "diamond", fill: "var(--paper)", stroke: "var(--ink)", r: 2.6 }),
          ],
        });
      },
    },
    stacks: {
      legend: (figure) => [
        ...Object.entries(PARTS).map(([part, fill]) => item(boxSign(fill), part)),
        html("span", {}, `from left to right: ${figure.lines.join(", ")}`),
      ],
      plot: (figure, rows, size) => {
        const places = [...new Set(rows.map((row) => row.place))];
        const parts = rows.flatMap((row) => {
          let from = 0;
          return Object.keys(PARTS).map((part) => ({ ...row, part, from, to: (from += row[part]) }));
        });
        return Plot.plot({
          ...base, ...size, width: Math.min(size.width, 130 + 30 * places.length * figure.lines.length), marginBottom: 44, y: axisY(figure.y, { zero: true }),
          fx: { domain: places, label: figure.x || null, labelAnchor: "center", labelArrow: "none", axis: "bottom", padding: 0.18 }, x: { domain: figure.lines, axis: null, padding: 0.12 },
          color: { domain: Object.keys(PARTS), range: Object.values(PARTS) },
          marks: [
            Plot.barY(parts, { fx: "place", x: "line", y1: "from", y2: "to", fill: "part", stroke: "var(--ink)", strokeWidth: 0.4, tip: true, title: (row) => `${row.line}, ${row.place}\n${Object.keys(PARTS).map((part) => `${part} ${short(row[part])} ms`).join("\n")}` }),
          ],
        });
      },
    },
  };

  for (const figure of figures) {
    const root = document.getElementById(`figure-${figure.id}`);
    const rows = table(figure.id);
    const several = figure.panels.length > 1;
    const width = several ? 540 : 760;
    const size = { width, height: Math.round(width * 0.58), marginLeft: 58, marginRight: 16, marginTop: 26, marginBottom: 42 };
    const wide = ["boxes", "stacks"].includes(figure.shape) ? { ...size, width: 1130, height: 380 } : size;
    const { legend, plot } = shapes[figure.shape];
    const panels = figure.panels.map((panel) => {
      const drawn = plot(figure, rows.filter((row) => row.panel === panel), wide);
      const box = html("div", { className: several ? "multiple" : "" });
      if (panel) box.append(html("p", { className: "caption", textContent: panel }));
      box.append(drawn);
      return box;
    });
    root.replaceChildren(legendOf(legend(figure, rows)), ...panels);
  }
})();

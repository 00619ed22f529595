// Draws what lay below a visit, under its waterfall and on its time axis: windows, what was sent again, timeouts, the radio, its
// energy. The rows are the document's own CSV. All colours are CSS variables.
"use strict";
const farlinkMechanism = (() => {
  const CAUSES = { timeout: "triangle", "fast-retransmit": "circle", "tail-loss-probe": "diamond", handshake: "square", unknown: "cross" };
  const LEVELS = { rest: "var(--rest)", low: "var(--low)", full: "var(--full)", promotion: "url(#promotion)" };

  const words = (cause) => (cause === "unknown" ? "cause unknown" : cause.replaceAll("-", " "));

  // d3.csvParse makes functions from text, which the document's policy forbids.
  const table = (id) => {
    const data = document.getElementById(id);
    if (!data) return [];
    const [names, ...lines] = d3.csvParseRows(data.textContent);
    return lines.map((line) => d3.autoType(Object.fromEntries(names.map((name, i) => [name, line[i]]))));
  };

  const html = (tag, className, ...children) => {
    const node = document.createElement(tag);
    node.className = className;
    node.append(...children);
    return node;
  };

  const svg = (attributes, content) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    node.innerHTML = content;
    return node;
  };

  // One for the document: patterns are found by their name.
  const hatching = () =>
    svg({ width: 0, height: 0, "aria-hidden": "true" }, `<defs><pattern id="promotion" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="var(--promotion)" fill-opacity="0.16"/><rect width="2" height="6" fill="var(--promotion)" fill-opacity="0.75"/></pattern></defs>`);

  const swatch = (content) => svg({ width: 18, height: 12, viewBox: "0 0 18 12", "aria-hidden": "true" }, content);
  const line = (style) => swatch(`<path d="M0 6H18" fill="none" ${style}/>`);
  const mark = (symbol, fill) => swatch(`<path transform="translate(9 6)" d="${d3.symbol(d3[`symbol${symbol[0].toUpperCase()}${symbol.slice(1)}`], 48)()}" fill="${fill}" stroke="var(--bad)"/>`);
  const box = (fill) => swatch(`<rect width="18" height="12" fill="${fill}"/>`);

  const legend = (has) => {
    const items = [];
    if (has.windows) items.push([line(`stroke="var(--a0)" stroke-width="2"`), "congestion window"], [line(`stroke="var(--a1)" stroke-width="2" stroke-dasharray="5 3"`), "slow start threshold"], [box("var(--flight)"), "in flight"], [line(`stroke="var(--a3)" stroke-width="2"`), "timeout"], [line(`stroke="var(--a4)" stroke-width="1.5"`), "round trip"]);
    has.causes.forEach((cause) => items.push([mark(CAUSES[cause], "var(--bad)"), `retransmitted: ${words(cause)}`]));
    if (has.needless) items.push([mark("circle", "none"), "hollow: spurious"]);
    if (has.stays) items.push([box("var(--rest)"), "radio idle"], [box("var(--low)"), "low"], [box("var(--full)"), "full"], [box("url(#promotion)"), "promotion: packets wait"]);
    return html("div", "legend", ...items.map(([sign, text]) => html("span", "", sign, ` ${text}`)));
  };

  // The rows of one connection as steps that last until the visit's end.
  const steps = (rows, end) => (rows.length ? [...rows, { ...rows.at(-1), at_ms: Math.max(end, rows.at(-1).at_ms) }] : rows);

  // A column over time; what becomes unknown lasts until then.
  const held = (rows, column) => rows.flatMap(({ at_ms, [column]: value }, i) => {
    const before = i ? rows[i - 1][column] : null;
    return value === null && before !== null ? [{ at_ms, value: before }, { at_ms, value }] : [{ at_ms, value }];
  });

  // `inside`: names stand in the lanes, beside their neighbours, not to the left of them.
  return (root, fall, index, { base, width, marginLeft, marginRight, end, axisOf, time, inside = false, only = Infinity }) => {
    const { drawn: all, end: over } = fall.mechanism;
    const drawn = all.slice(0, only);
    const way = table(`way-${index}`);
    const windows = table(`windows-${index}`), resent = table(`resent-${index}`), stays = table(`stays-${index}`);
    if (!drawn.length && !stays.length && !resent.length && !way.length) return;
    const promotions = stays.filter((stay) => stay.level === "promotion");
    const seconds = (ms) => `${d3.format(".2~f")(ms / 1000)} s`;
    const explain = (stay) => `${stay.state}, ${seconds(stay.from_ms)} to ${seconds(stay.to_ms)}\nby: ${stay.cause}\n${stay.watts} W; ${stay.joules} J by its end`;

    // A lane: a plot of its own with the waterfall's time axis.
    const lanes = [];
    const lane = (name, height, y, marks, about) => lanes.push({ name, height, y, marks, about });
    const draw = ({ name, height, y, marks, about }, place) => {
      const last = place === lanes.length - 1;
      const plot = Plot.plot({
        ...base, width, height: height + (last ? 40 : 0), marginLeft, marginRight, marginTop: 5, marginBottom: last ? 45 : 5,
        ariaLabel: `${about} of ${fall.title}; the data are below`,
        x: { ...axisOf("time since navigation start", end), axis: last ? "bottom" : null, grid: true, domain: [0, end], labelAnchor: "center", labelArrow: "none" },
        y: { label: null, ...y },
        symbol: { domain: Object.keys(CAUSES), range: Object.values(CAUSES) },
        marks: [
          Plot.rect(promotions, { x1: "from_ms", x2: "to_ms", fill: "var(--promotion)", fillOpacity: 0.13 }),
          marks,
          fall.plt === null ? null : Plot.ruleX([fall.plt], { stroke: "var(--ink)", strokeWidth: 1.5 }),
          Plot.text([name], { frameAnchor: "top-left", textAnchor: "start", lineAnchor: "top", dx: inside ? 4 : 4 - marginLeft, lineHeight: 1.25, fill: "var(--ink)", ...(inside ? { stroke: "var(--paper)", strokeWidth: 3, strokeOpacity: 0.8 } : {}) }),
        ],
      });
      plot.dataset[inside ? "beside" : "lane"] = about;
      return plot;
    };

    const again = (connection) => {
      const its = resent.filter((one) => one.connection === connection);
      const senders = ["server", "client"].filter((sender) => its.some((one) => one.sender === sender));
      if (!senders.length) return;
      lane("retransmitted by", 14 + 16 * senders.length, { domain: senders, type: "point", padding: 0.5, tickSize: 0 }, [
        Plot.dot(its, { x: "at_ms", y: "sender", symbol: "cause", r: 4.5, stroke: "var(--bad)", strokeWidth: 1.3, fill: (one) => (one.needless ? "var(--paper)" : "var(--bad)"),
          title: (one) => `retransmitted by the ${one.sender} at ${seconds(one.at_ms)}\ncause: ${words(one.cause)}${one.needless ? "\nspurious" : ""}`, tip: true }),
      ], `Retransmissions of connection ${connection}`);
    };

    const few = { grid: true, ticks: 4, nice: false };
    if (way.length) {
      const held = [{ at_ms: 0, bytes: 0 }, ...way, { at_ms: Math.max(end, way.at(-1).at_ms), bytes: way.at(-1).bytes }];
      const at = { x: "at_ms", curve: "step-after", clip: true };
      lane(inside ? "queue and link, KB" : "in queue and\non link, KB", 70, { ...few, ticks: 3, domain: [0, (1.08 * d3.max(way, (row) => row.bytes)) / 1000 || 1] }, [
        Plot.areaY(held, { ...at, y1: 0, y2: (row) => row.bytes / 1000, fill: "var(--c-queue)", fillOpacity: 0.45 }),
        Plot.tip(held, Plot.pointerX({ x: "at_ms", y: (row) => row.bytes / 1000, title: (row) => `${seconds(row.at_ms)}\n${d3.format(".1f")(row.bytes / 1000)} KB towards the client` })),
      ], "Bytes in queues and on links");
    }
    drawn.forEach(({ connection, name, host, carried }) => {
      const rows = steps(windows.filter((row) => row.connection === connection), over);
      const highest = d3.max(rows, (row) => Math.max(row.cwnd, row.in_flight)) || 1;
      const threshold = d3.max(rows, (row) => Math.min(row.ssthresh ?? 0, 2 * highest)) || 0;
      const shown = host.length > 21 ? `${host.slice(0, 20)}…` : host;
      const at = { x: "at_ms", curve: "step-after" };
      lane(inside ? `${name} ${shown}, segments` : `${name}\n${shown}\n${carried}\nin segments`, inside ? 100 : 140, { ...few, domain: [0, 1.08 * Math.max(highest, threshold)] }, [
        Plot.ruleX(resent.filter((one) => one.connection === connection), { x: "at_ms", stroke: "var(--bad)", strokeOpacity: 0.25 }),
        Plot.areaY(rows, { ...at, y1: 0, y2: "in_flight", fill: "var(--flight)", clip: true }),
        Plot.lineY(held(rows, "ssthresh"), { ...at, y: "value", stroke: "var(--a1)", strokeWidth: 1.8, strokeDasharray: "5 3", clip: true }),
        Plot.lineY(rows, { ...at, y: "cwnd", stroke: "var(--a0)", strokeWidth: 2, clip: true }),
        Plot.tip(rows, Plot.pointerX({ x: "at_ms", y: "cwnd", title: (row) => `${seconds(row.at_ms)}\nwindow ${row.cwnd}, threshold ${row.ssthresh ?? "none"}\nin flight ${row.in_flight}\ntimeout ${time(row.rto_ms)}, round trip ${row.srtt_ms === null ? "unknown" : time(row.srtt_ms)}` })),
      ], `Windows of connection ${connection}`);
      again(connection);
      const inSeconds = { y: (row) => (row.value === null ? null : row.value / 1000) };
      lane(inside ? "RTO and SRTT, s" : "RTO and\nSRTT, s", 62, { ...few, ticks: 2, domain: [0, (1.08 * d3.max(rows, (row) => row.rto_ms)) / 1000 || 1] }, [
        Plot.lineY(held(rows, "srtt_ms"), { ...at, ...inSeconds, stroke: "var(--a4)", strokeWidth: 1.5 }),
        Plot.lineY(held(rows, "rto_ms"), { ...at, ...inSeconds, stroke: "var(--a3)", strokeWidth: 2 }),
      ], `Timeout and round trip of connection ${connection}`);
    });
    // Without windows what was sent again is known all the same.
    if (!drawn.length) [...new Set(resent.map((one) => one.connection))].slice(0, 4).forEach(again);
    if (stays.length) {
      const fits = (stay) => ((stay.to_ms - stay.from_ms) / end) * (width - marginLeft - marginRight) > 7 * stay.state.length + 6;
      lane("radio", 36, { axis: null, domain: [0, 1] }, [
        Plot.rect(stays, { x1: "from_ms", x2: "to_ms", y1: 0, y2: 1, fill: (stay) => LEVELS[stay.level], stroke: "var(--paper)", title: explain }),
        Plot.text(stays.filter(fits), { x: (stay) => (stay.from_ms + stay.to_ms) / 2, y: 0.5, text: "state", fontSize: 11, fill: "var(--ink)", stroke: (stay) => (stay.level === "promotion" ? "var(--paper)" : "none"), strokeWidth: 4 }),
        Plot.tip(stays, Plot.pointerX({ x1: "from_ms", x2: "to_ms", y: 0.5, title: explain })),
      ], "The radio's states");
      const powers = stays.flatMap((stay) => [{ at: stay.from_ms, watts: stay.watts }, { at: stay.to_ms, watts: stay.watts }]);
      const spent = [{ to_ms: 0, joules: 0 }, ...stays];
      if (d3.max(stays, (stay) => stay.watts) > 0) {
        lane("power, W", 56, { ...few, ticks: 2, domain: [0, 1.08 * d3.max(stays, (stay) => stay.watts)] }, [Plot.areaY(powers, { x: "at", y1: 0, y2: "watts", fill: "var(--full)" })], "The radio's power");
        lane("energy, J", 66, { ...few, ticks: 2, domain: [0, 1.08 * stays.at(-1).joules] }, [Plot.lineY(spent, { x: "to_ms", y: "joules", stroke: "var(--a0)", strokeWidth: 2 })], "The energy that the radio has spent");
      }
    }
    const causes = Object.keys(CAUSES).filter((cause) => resent.some((one) => one.cause === cause));
    const has = { windows: drawn.length > 0, causes, needless: resent.some((one) => one.needless), stays: stays.length > 0 };
    if (!document.getElementById("promotion")) document.body.append(hatching());
    if (inside) return root.replaceChildren(html("div", "lanes", ...lanes.map(draw)));
    root.replaceChildren(legend(has), html("div", "lanes scroll", ...lanes.map(draw)));
  };
})();

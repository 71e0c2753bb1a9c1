// The status page: asks for what is new of the history, keeps as much of it as the daemon does, and draws it.
// Everything from the daemon goes into the page as text, never as markup. Times are nanoseconds unless they say so.
"use strict";

const SECOND = 1e9;
const RANGES = {
  seconds: { spanMs: 600e3, periodMs: 1000, query: "" },
  tens: { spanMs: 6 * 3600e3, periodMs: 10000, query: "tens=1&" },
};
const N_COLOURS = 8; // the last one is of all others

const state = { range: "seconds", samples: [], after: "0", latest: null, cursorMs: null, colours: new Map(), turn: 0 };

// ---- numbers for people ----

function scaled(value, units, step, unit) {
  let i = 0;
  while (Math.abs(value) >= step && i < units.length - 1) {
    value /= step;
    i++;
  }
  const digits = i === 0 && Number.isInteger(value) ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${value.toFixed(digits)}${units[i]}${unit}`;
}
const count = (value) => scaled(value, ["", " k", " M", " G", " T"], 1000, "");
const bytes = (value) => scaled(value, [" B", " KiB", " MiB", " GiB", " TiB"], 1024, "");
const share = (value) => `${Math.round(100 * value)} %`;
const threads = (value) => value.toFixed(value < 10 ? 2 : 1);

const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}
const clock = (ms, withSeconds) =>
  new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(withSeconds && { second: "2-digit" }), hour12: false });

// ---- what is drawn: a name for each line, and its value in a sample ----

const rate = (member) => (stream, sample) => (stream[member] * SECOND) / sample.d;
const ofStreams = (value) => (sample) => sample.streams.map((stream) => [streamName(stream), value(stream, sample)]);
const streamName = (stream) =>
  stream.other || stream.is_other ? "other streams" : stream.own || stream.is_own ? `${stream.name} (trainer's)` : stream.name;

function ofStages(sample) {
  const lines = [];
  for (const stream of sample.streams)
    for (const [stage, , busy] of stream.stages)
      lines.push([state.hasManyStreams ? `${stream.name}: ${stage}` : stage, busy / sample.d]);
  return lines;
}

const CHARTS = [
  { id: "batches", title: "Batches per second", format: count, lines: ofStreams(rate("batches")) },
  { id: "tokens", title: "Tokens per second", format: count, lines: ofStreams(rate("tokens")) },
  { id: "rows", title: "Rows per second", format: count, lines: ofStreams(rate("rows")) },
  { id: "source", title: "Bytes read per second", format: bytes, base: 1024, lines: ofStreams(rate("bytes")) },
  {
    id: "wait", title: "Fraction of time in which trainers waited for a batch", format: share, top: 1,
    lines: ofStreams((stream, sample) => Math.min(1, stream.wait / (sample.d * Math.max(1, stream.sessions)))),
  },
  {
    id: "no_slot", title: "Fraction of time without a free slot, because trainers are slow", format: share, top: 1,
    lines: ofStreams((stream, sample) => Math.min(1, stream.no_slot / sample.d)),
  },
  { id: "stages", title: "Busy threads of each stage", format: threads, palette: "stages", lines: ofStages },
  {
    id: "queue", title: "Slots with a batch", format: count,
    lines: ofStreams((stream) => stream.slots - stream.free),
  },
  { id: "blocks", title: "Blocks between source and batches", format: count, lines: ofStreams((stream) => stream.blocks) },
  {
    id: "memory", title: "Memory", format: bytes, base: 1024, palette: "memory",
    lines: (sample) => [["resident", sample.rss], ["rings of batches", sample.ring], ["counted for memory_limit", sample.mem]],
  },
  {
    id: "cpu", title: "CPUs in use, and busy threads", format: threads, palette: "cpu",
    lines: (sample) => [["CPUs", sample.cpu / sample.d], ["workers busy", sample.work / sample.d], ["loop busy", sample.loop / sample.d]],
  },
  { id: "sessions", title: "Trainers connected", format: count, palette: "sessions", lines: (sample) => [["trainers", sample.sessions]] },
];

// ---- elements ----

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

// Names of clients may hold anything: control characters are told by their numbers.
const shown = (text) =>
  // eslint-disable-next-line no-control-regex
  String(text).replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);

function make(name, attributes = {}, text = null) {
  const element = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, shown(value));
  if (text !== null) element.textContent = shown(text);
  return element;
}

function chartFrame(chart) {
  const frame = make("div", { class: "chart", id: `chart-${chart.id}` });
  chart.svg = make("svg:svg", { role: "img", "aria-label": chart.title });
  chart.legend = make("ul", { class: "legend" });
  frame.append(make("h3", {}, chart.title), chart.svg, chart.legend);
  chart.svg.addEventListener("pointermove", (event) => moveCursor(chart, event));
  chart.svg.addEventListener("pointerleave", () => setCursor(null));
  byId("charts").append(frame);
}

// ---- charts ----

const MARGIN = { left: 62, right: 8, top: 8, bottom: 20 };

function niceTop(top, base) {
  if (top <= 0) return 1;
  const unit = base === 1024 ? 1024 ** Math.floor(Math.log(top) / Math.log(1024)) : 10 ** Math.floor(Math.log10(top));
  const steps = base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 1.5, 2, 3, 4, 5, 6, 8, 10];
  return unit * steps.find((step) => step * unit >= top);
}

// A name keeps its colour; streams have theirs in all charts.
function colourOf(palette, name) {
  if (!state.colours.has(palette)) state.colours.set(palette, new Map());
  const colours = state.colours.get(palette);
  if (!colours.has(name)) colours.set(name, colours.size % N_COLOURS);
  return colours.get(name);
}

// {name: [[ms, value]]} of the largest lines; those beyond are added up.
function gather(chart) {
  const points = new Map();
  const sums = new Map();
  for (const sample of state.samples)
    for (const [name, value] of chart.lines(sample)) {
      if (!points.has(name)) points.set(name, []);
      points.get(name).push([sample.t, value]);
      sums.set(name, (sums.get(name) || 0) + value);
    }
  if (points.size <= N_COLOURS) return [...points].map(([name, its]) => ({ name, points: its }));
  const names = [...points.keys()].sort((a, b) => sums.get(b) - sums.get(a));
  const others = new Map();
  for (const name of names.slice(N_COLOURS - 1)) for (const [t, value] of points.get(name)) others.set(t, (others.get(t) || 0) + value);
  return [
    ...names.slice(0, N_COLOURS - 1).map((name) => ({ name, points: points.get(name) })),
    { name: "others", points: [...others].sort((a, b) => a[0] - b[0]), isOthers: true },
  ];
}

function pathOf(points, x, y, gapMs) {
  let path = "";
  let before = -Infinity;
  for (const [t, value] of points) {
    path += `${t - before > gapMs ? "M" : "L"}${x(t).toFixed(1)},${y(value).toFixed(1)}`;
    before = t;
  }
  return points.length === 1 ? `${path}h1` : path;
}

function drawGrid(chart, size, y, top) {
  for (const part of [0, 0.5, 1]) {
    const at = y(top * part);
    chart.svg.append(make("svg:line", { class: "grid", x1: MARGIN.left, x2: size.width - MARGIN.right, y1: at, y2: at }));
    chart.svg.append(make("svg:text", { x: MARGIN.left - 6, y: at + 4, "text-anchor": "end" }, chart.format(top * part)));
  }
}

function drawTimes(chart, size, x, view) {
  const n = size.width > 480 ? 4 : 2;
  for (let i = 0; i <= n; i++) {
    const ms = view.from + ((view.to - view.from) * i) / n;
    const anchor = i === 0 ? "start" : i === n ? "end" : "middle";
    chart.svg.append(make("svg:text", { x: x(ms), y: size.height - 4, "text-anchor": anchor }, clock(ms, view.to - view.from < 300e3)));
  }
}

function nearest(points, ms, gapMs) {
  let found = null;
  for (const point of points) if (!found || Math.abs(point[0] - ms) < Math.abs(found[0] - ms)) found = point;
  return found && Math.abs(found[0] - ms) <= gapMs ? found[1] : null;
}

function drawLegend(chart, lines, view) {
  const at = state.cursorMs ?? view.to;
  chart.legend.replaceChildren(
    ...lines.map((line) => {
      const item = make("li");
      const value = nearest(line.points, at, view.gapMs);
      item.append(make("i", { class: `c${line.colour}` }), make("span", { title: line.name }, line.name));
      item.append(make("b", {}, value === null ? "–" : chart.format(value)));
      return item;
    }),
  );
}

function drawChart(chart, view) {
  const size = { width: chart.svg.clientWidth || 320, height: chart.svg.clientHeight || 150 };
  const lines = gather(chart);
  let top = 0;
  for (const line of lines) {
    line.colour = line.isOthers ? N_COLOURS - 1 : colourOf(chart.palette || "streams", line.name);
    for (const [, value] of line.points) if (value > top) top = value;
  }
  top = chart.top ?? niceTop(top, chart.base);
  const x = (ms) => MARGIN.left + ((ms - view.from) / (view.to - view.from)) * (size.width - MARGIN.left - MARGIN.right);
  const y = (value) => size.height - MARGIN.bottom - (value / top) * (size.height - MARGIN.top - MARGIN.bottom);
  chart.view = { ...view, size };
  chart.svg.replaceChildren();
  chart.svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  drawGrid(chart, size, y, top);
  drawTimes(chart, size, x, view);
  for (const line of lines) chart.svg.append(make("svg:path", { class: `c${line.colour}`, d: pathOf(line.points, x, y, view.gapMs) }));
  if (state.cursorMs !== null) {
    const at = x(state.cursorMs);
    chart.svg.append(make("svg:line", { class: "cursor", x1: at, x2: at, y1: MARGIN.top, y2: size.height - MARGIN.bottom }));
  }
  drawLegend(chart, lines, view);
}

function moveCursor(chart, event) {
  if (!chart.view) return;
  const box = chart.svg.getBoundingClientRect();
  const part = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
  setCursor(part < 0 || part > 1 ? null : chart.view.from + part * (chart.view.to - chart.view.from));
}

function setCursor(ms) {
  state.cursorMs = ms;
  requestDraw();
}

// ---- the rest of the page ----

// Sums of the last minute (or of what there is): by a value of a stream, over time.
function lastMinute() {
  const to = state.samples.length ? state.samples[state.samples.length - 1].t : 0;
  return state.samples.filter((sample) => sample.t > to - 60e3);
}

function tile(value, label) {
  const box = make("div", { class: "tile" });
  box.append(make("b", {}, value), make("span", {}, label));
  return box;
}

function drawTiles() {
  const figures = state.latest.figures;
  const last = state.samples[state.samples.length - 1];
  const total = (member) => (last ? last.streams.reduce((sum, stream) => sum + (stream[member] * SECOND) / last.d, 0) : 0);
  const trainers = last ? last.streams.reduce((sum, stream) => sum + stream.sessions, 0) : 0;
  const waited = trainers ? last.streams.reduce((sum, stream) => sum + stream.wait, 0) / (last.d * trainers) : 0;
  byId("tiles").replaceChildren(
    tile(count(total("batches")), "batches/s"),
    tile(count(total("tokens")), "tokens/s"),
    tile(count(figures.n_sessions), "trainers"),
    tile(share(Math.min(1, waited)), "waiting time of trainers"),
    tile(last ? `${threads(last.work / last.d)} / ${figures.n_workers}` : "–", "workers busy"),
    tile(bytes(figures.rss_bytes), "memory"),
  );
}

function stageBar(name, busy, most, colour) {
  const row = make("div", { class: "bar" });
  const svg = make("svg:svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(make("svg:rect", { class: "all", width: 100, height: 10, rx: 1 }));
  svg.append(make("svg:rect", { class: `c${colour}`, width: Math.min(100, (100 * busy) / most), height: 10, rx: 1 }));
  row.append(make("span", { class: "name", title: name }, name), svg, make("span", { class: "value" }, `${threads(busy)} thr.`));
  return row;
}

function drawBounds() {
  const read = state.latest.streams.filter((stream) => stream.verdict);
  const lines = read.map((stream) => make("li", {}, `${stream.name}: ${stream.verdict}`));
  byId("bounds").replaceChildren(...(lines.length ? lines : [make("li", { class: "hint" }, "No trainer reads a stream now.")]));
}

function drawStages() {
  const streams = new Map();
  let ns = 0;
  for (const sample of lastMinute()) {
    ns += sample.d;
    for (const stream of sample.streams) {
      const stages = streams.get(streamName(stream)) || new Map();
      streams.set(streamName(stream), stages);
      for (const [stage, , busy] of stream.stages) stages.set(stage, (stages.get(stage) || 0) + busy);
    }
  }
  const rows = [];
  const most = Math.max(1, state.latest.figures.n_workers);
  for (const [name, stages] of streams) {
    if (!stages.size) continue;
    rows.push(make("h3", {}, name));
    for (const [stage, busy] of stages) rows.push(stageBar(stage, busy / ns, most, 0));
  }
  byId("stages").replaceChildren(...(rows.length ? rows : [make("span", { class: "hint" }, "No stage ran in the last minute.")]));
}

// Columns come with the figures: those of one label are one column, the sum of their members.
const CELLS = { "": count, bytes, ns: (value) => `${(value / SECOND).toFixed(1)} s` };
const cellOf = (stream, { members, unit }) => {
  const text = CELLS[unit](members.reduce((sum, member) => sum + stream.figures[member], 0));
  return members[0] === "n_slots_free" ? `${text} / ${stream.figures.n_slots}` : text;
};

function columns() {
  const found = new Map();
  for (const [member, label, unit] of state.latest.columns) {
    if (!found.has(label)) found.set(label, { label, unit, members: [] });
    found.get(label).members.push(member);
  }
  return [...found.values()];
}

function drawTable() {
  const shownColumns = columns();
  const head = make("tr");
  head.append(...["stream", ...shownColumns.map(({ label }) => label)].map((name) => make("th", { scope: "col" }, name)));
  const table = byId("streams");
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(
    ...state.latest.streams.map((stream) => {
      const row = make("tr");
      row.append(make("td", {}, streamName(stream)), ...shownColumns.map((column) => make("td", {}, cellOf(stream, column))));
      return row;
    }),
  );
}

// What an operator must act on: what fails or stalls now, not what did once.
function troubles() {
  const figures = state.latest.figures;
  const found = [];
  for (const stream of state.latest.streams) {
    if (stream.failure && !stream.failure.is_over) {
      const ms = stream.failure.unix_ns / 1e6;
      const age = duration(Math.max(0, (state.latest.now_ms - ms) / 1000));
      found.push([streamName(stream), `failed at ${clock(ms, true)}, ${age} ago (${stream.failure.reason}): ${stream.failure.error}`]);
    }
    if (stream.figures.n_stalled) found.push([streamName(stream), `stalled: ${plural(stream.figures.n_stalled, "task")} over worker_timeout; leatctl trace shows the task`]);
  }
  if (!figures.is_reload_good) found.push(["configuration", "the last reload failed: run leatctl reload --check to see the error"]);
  if (figures.is_draining) found.push(["leatd", "the daemon drains, and accepts no new trainers"]);
  return found;
}

function drawAttention() {
  const found = troubles();
  byId("attention").hidden = !found.length;
  byId("attention").querySelector("ul").replaceChildren(
    ...found.map(([name, text]) => {
      const item = make("li");
      item.append(make("b", {}, name), document.createTextNode(`: ${shown(text)}`));
      return item;
    }),
  );
}

function drawSummary() {
  const figures = state.latest.figures;
  const up = (state.latest.now_ms - figures.start_unix_ns / 1e6) / 1000;
  const parts = [`up ${duration(Math.max(0, up))}`, plural(figures.n_workers, "worker"), plural(figures.n_streams, "stream")];
  if (figures.n_streams_other) parts.push(`${figures.n_streams_other} of them as "other streams"`);
  if (figures.is_draining) parts.push("draining");
  byId("summary").textContent = parts.join(" · ");
  byId("version").textContent = `leatd ${state.latest.version}`;
}

function draw() {
  state.drawRequested = false;
  if (!state.latest || !state.latest.figures) return;
  const range = RANGES[state.range];
  const to = state.latest.now_ms;
  const first = state.samples.length ? state.samples[0].t : to;
  const spanMs = Math.min(range.spanMs, Math.max(60 * range.periodMs, to - first)); // of a young daemon less
  const view = { from: to - spanMs, to, gapMs: 3.5 * range.periodMs };
  state.hasManyStreams = state.latest.streams.length > 1;
  drawSummary();
  drawAttention();
  drawTiles();
  for (const chart of CHARTS) drawChart(chart, view);
  drawBounds();
  drawStages();
  drawTable();
  document.documentElement.dataset.drawn = String(state.samples.length);
}

function requestDraw() {
  if (state.drawRequested) return;
  state.drawRequested = true;
  requestAnimationFrame(draw);
}

// ---- asking ----

function trouble(text) {
  byId("trouble").hidden = !text;
  byId("trouble").textContent = text;
}

function take(reply) {
  const range = RANGES[state.range];
  state.latest = reply;
  for (const sample of reply.samples) state.samples.push(sample);
  if (state.samples.length) state.after = state.samples[state.samples.length - 1].at;
  const from = (reply.now_ms || 0) - range.spanMs;
  while (state.samples.length && state.samples[0].t < from) state.samples.shift();
  trouble(reply.is_stale ? "The daemon has not answered for ten seconds: the daemon or its machine hangs." : "");
}

// A token may come with the address, from where it is taken at once; it is kept while the tab is open.
function keepToken(text) {
  state.token = text;
  try {
    sessionStorage.setItem("leat-token", text);
  } catch {
    // then it is asked for again
  }
  for (const link of document.querySelectorAll("footer a")) link.search = text ? `?token=${encodeURIComponent(text)}` : "";
}

function findToken() {
  const given = new URLSearchParams(location.search).get("token");
  let kept = "";
  try {
    kept = sessionStorage.getItem("leat-token") || "";
  } catch {
    // there is none
  }
  if (given) history.replaceState(null, "", location.pathname);
  keepToken(given || kept);
}

function wantToken(isWanted) {
  byId("token").hidden = !isWanted;
  state.wantsToken = isWanted;
  if (isWanted) byId("token-text").focus();
}

function useToken(event) {
  event.preventDefault();
  keepToken(byId("token-text").value.trim());
  byId("token-text").value = "";
  choose(state.range);
}

async function ask(turn) {
  const range = RANGES[state.range];
  const headers = state.token ? { Authorization: `Bearer ${state.token}` } : {};
  const reply = await fetch(`/history.json?${range.query}after=${state.after}`, { headers, signal: AbortSignal.timeout(10000) });
  if (turn === state.turn) wantToken(reply.status === 401);
  if (!reply.ok) throw new Error(await reply.text());
  const answer = await reply.json();
  if (turn !== state.turn) return false; // another range was chosen meanwhile
  if (answer.figures && state.start !== answer.figures.start_unix_ns && state.start && Math.abs(state.start - answer.figures.start_unix_ns) > SECOND) {
    state.samples = []; // another daemon: its clock is another one
    state.after = "0";
    state.start = answer.figures.start_unix_ns;
    return true; // all of its own, from the beginning
  }
  state.start = answer.figures ? answer.figures.start_unix_ns : 0;
  take(answer);
  return answer.has_more;
}

async function run(turn) {
  while (turn === state.turn) {
    let hasMore = false;
    try {
      hasMore = await ask(turn);
    } catch (error) {
      trouble(state.wantsToken ? "" : `The daemon does not answer: ${error.message}`);
    }
    if (state.wantsToken) return; // what is typed in begins another turn
    requestDraw();
    if (!hasMore) await new Promise((resolve) => setTimeout(resolve, document.hidden ? 5000 : 1000));
  }
}

function choose(range) {
  state.range = range;
  state.samples = [];
  state.after = "0";
  state.wantsToken = false;
  for (const name of Object.keys(RANGES)) byId(name).setAttribute("aria-pressed", String(name === range));
  run(++state.turn);
}

CHARTS.forEach(chartFrame);
for (const name of Object.keys(RANGES)) byId(name).addEventListener("click", () => choose(name));
addEventListener("resize", requestDraw);
byId("token").addEventListener("submit", useToken);
findToken();
choose("seconds");

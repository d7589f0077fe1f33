"use strict";
(() => {
const $ = id => document.getElementById(id);
const root = document.documentElement;
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const minutes = 2, keep = minutes * 60 * 4 + 4; // samples of each timer

// What is known. Everything the server sent comes into these, and is drawn from them.
let instance = "", bounds = [], selected = "", paused = false;
let timers = [];                 // as in the latest event "stats"
let rings = {}, ringsAt = 0;     // as in the latest event "rings", and when it came
let waiting = {}, waitingAt = 0; // as in the latest event "waiting", and when it came
const history = new Map();       // by name, samples {t, accepted, cancelled, resets, expired, counts}
const page = { frames: 0, scriptTime: 0, events: 0 }; // for those who measure
window.hwtPage = page;

// ---- words and numbers

const count = n => n >= 1e9 ? (n / 1e9).toFixed(2) + " G" : n >= 1e7 ? (n / 1e6).toFixed(1) + " M" : Math.round(n).toLocaleString("en-US").replace(/,/g, "\u202f");
const rate = n => n < 10 ? n.toFixed(n > 0 && n < 9.95 ? 1 : 0) : count(n);

function duration(ns) {
  const abs = Math.abs(ns);
  for (const [unit, size, next] of [["ns", 1, 1e3], ["µs", 1e3, 1e6], ["ms", 1e6, 1e9], ["s", 1e9, 6e10], ["min", 6e10, 3.6e12], ["h", 3.6e12, 8.64e13]])
    if (abs < next) return trim(ns / size) + "\u202f" + unit;
  return trim(ns / 8.64e13) + "\u202fd";
}
const trim = x => Math.abs(x) >= 100 || Number.isInteger(x) ? x.toFixed(0) : Math.abs(x) >= 10 ? x.toFixed(1) : x.toFixed(2);

// set changes the text of an element, if it is another.
function set(el, text) { if (el.textContent !== text) el.textContent = text; }

// make returns an element of the kind, with children.
function make(kind, ...children) {
  const el = document.createElement(kind);
  el.append(...children);
  return el;
}

// fit makes parent have n children, which it keeps from one time to the next.
function fit(parent, n, create) {
  while (parent.children.length > n) parent.lastChild.remove();
  while (parent.children.length < n) parent.append(create(parent.children.length));
  return parent.children;
}

// list shows rows of [name, value, bad] in a dl.
function list(dl, rows) {
  const els = fit(dl, rows.length * 2, i => document.createElement(i % 2 ? "dd" : "dt"));
  rows.forEach(([name, value, bad], i) => {
    set(els[2 * i], name);
    set(els[2 * i + 1], value);
    els[2 * i + 1].className = bad === "wide" ? "wide" : bad ? "bad" : "";
  });
}

// ---- colours

const shades = 32;
let colours = {}, ramp = []; // ramp: from few timeouts to many
function readColours() {
  const style = getComputedStyle(root);
  for (const name of ["back", "panel", "line", "text", "dim", "strong", "accent", "scheduled", "cancelled", "reset", "expired"])
    colours[name] = style.getPropertyValue("--" + name).trim();
  const stops = style.colorScheme === "dark"
    ? [[34, 62, 108], [47, 120, 190], [90, 200, 250], [255, 214, 138], [255, 150, 84], [255, 96, 96]]
    : [[168, 206, 236], [86, 166, 222], [20, 118, 196], [104, 72, 214], [196, 52, 128], [222, 64, 32]];
  ramp = Array.from({ length: shades }, (_, i) => {
    const x = i / (shades - 1) * (stops.length - 1), k = Math.min(Math.floor(x), stops.length - 2);
    return `rgb(${stops[k].map((v, j) => Math.round(v + (stops[k + 1][j] - v) * (x - k)))})`;
  });
  redrawAll();
}

// The sizes of canvases, in CSS pixels, are remembered: to ask for one makes the
// browser lay out the page there and then.
const sizes = new WeakMap();
const resized = new ResizeObserver(entries => {
  for (const e of entries) sizes.set(e.target, [e.contentRect.width, e.contentRect.height]);
  requestAnimationFrame(redrawAll);
});

function sizeOf(el) {
  if (!sizes.has(el)) {
    sizes.set(el, [el.clientWidth, el.clientHeight]);
    resized.observe(el);
  }
  return sizes.get(el);
}

// canvas returns the context of el at the size it is shown, in CSS pixels.
function canvas(el) {
  const dpr = Math.min(devicePixelRatio || 1, 2), [w, h] = sizeOf(el);
  if (el.width !== Math.round(w * dpr) || el.height !== Math.round(h * dpr)) {
    el.width = Math.round(w * dpr);
    el.height = Math.round(h * dpr);
  }
  const c = el.getContext("2d");
  c.setTransform(dpr, 0, 0, dpr, 0, 0);
  c.clearRect(0, 0, w, h);
  return [c, w, h];
}

// ---- the wheel

let dials = []; // of the workers: {buckets, hand, number, label}

function makeDial() {
  const buckets = make("canvas"), hand = make("canvas"), number = make("b"), label = make("span"), more = make("span");
  buckets.setAttribute("role", "img");
  hand.setAttribute("aria-hidden", "true");
  const el = make("div", buckets, hand, make("div", number, label, more));
  el.className = "dial";
  dials.push({ buckets, hand, number, label, more });
  return el;
}

// bandsOf divides the radius among the rings of a worker, the finest innermost.
function bandsOf(n, size) {
  const outer = size / 2 - 6, inner = outer * (n > 1 ? 0.4 : 0.58), step = (outer - inner) / n;
  return i => [inner + step * i + (n > 1 ? 3 : 0), inner + step * (i + 1)];
}

function drawWheels() {
  const workers = rings[selected] || [];
  const els = fit($("wheels"), workers.length, makeDial);
  dials.length = els.length;
  $("wheels").style.setProperty("--least", workers.length > 4 ? "140px" : workers.length > 1 ? "190px" : "260px");
  workers.forEach((levels, i) => drawBuckets(dials[i], levels, workers.length, i));
  const stats = statsOf(selected), held = workers.flat().reduce((n, r) => n + r.held, 0);
  let note = "This timer has no wheel.";
  if (workers.length) {
    const r = workers[0];
    note = r.length ? r.map(l => `${count(l.buckets)} buckets of ${duration(l.span_ns)}, a turn in ${duration(l.span_ns * l.buckets)}`).join("; ") + "." : "The wheel is empty.";
    const rest = stats ? stats.pending - held : 0;
    if (rest > 0 && rest > stats.pending / 100) note += ` About ${count(rest)} have not reached the wheel yet.`;
  }
  set($("wheel-note"), note);
}

function drawBuckets(dial, levels, workers, n) {
  const [c, w] = canvas(dial.buckets), mid = w / 2, band = bandsOf(levels.length, w);
  let held = 0;
  levels.forEach((ring, level) => {
    const [r0, r1] = band(level), size = ring.segments.length, most = Math.max(1, ...ring.segments);
    const gap = size > 128 ? 0.12 : 0.18, step = 2 * Math.PI / size, base = r0 + 2, height = r1 - base - 3;
    c.strokeStyle = colours.line;
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(mid, mid, r0, 0, 2 * Math.PI);
    c.stroke();
    ring.held = 0;
    const paths = new Map(); // by colour, so that each is filled once
    for (let i = 0; i < size; i++) {
      const here = ring.segments[i];
      if (!here) continue;
      ring.held += here;
      const shade = Math.min(shades - 1, Math.floor(here / most * shades));
      let path = paths.get(shade);
      if (!path) paths.set(shade, path = new Path2D());
      const a = i * step - Math.PI / 2 + step * gap / 2, b = a + step * (1 - gap), top = base + height * (0.12 + 0.88 * here / most);
      path.moveTo(mid + base * Math.cos(a), mid + base * Math.sin(a));
      path.arc(mid, mid, top, a, b);
      path.arc(mid, mid, base, b, a, true);
      path.closePath();
    }
    for (const [shade, path] of paths) {
      c.fillStyle = ramp[shade];
      c.fill(path);
    }
    held += ring.held;
  });
  set(dial.number, count(held));
  set(dial.label, workers > 1 ? `on wheel ${n + 1}` : "on the wheel");
  set(dial.more, levels.length > 1 ? `${levels.length} levels` : "");
  dial.buckets.setAttribute("aria-label", `${held} timeouts wait in the buckets of wheel ${n + 1}`);
}

let handsAt = 0; // when the hands were where they are drawn; a pause stops them there

function drawHands() {
  const workers = rings[selected] || [];
  if (!paused) handsAt = performance.now();
  for (let i = 0; i < workers.length && i < dials.length; i++) {
    const [c, w] = canvas(dials[i].hand), mid = w / 2, band = bandsOf(workers[i].length, w);
    workers[i].forEach((ring, level) => {
      const turn = ring.span_ns * ring.buckets / 1e6; // ms
      const at = (ring.hand + (handsAt - ringsAt) * 1e6 / ring.span_ns) / ring.buckets;
      drawHand(c, mid, band(level), at * 2 * Math.PI - Math.PI / 2, turn);
    });
  }
}

// drawHand draws the hand at an angle, with a trail; a ring that turns faster than one
// can see has a glow instead.
function drawHand(c, mid, [r0, r1], angle, turn) {
  c.strokeStyle = c.fillStyle = colours.strong;
  if (turn < 600) {
    c.globalAlpha = 0.25;
    c.lineWidth = 2;
    c.beginPath();
    c.arc(mid, mid, r0, 0, 2 * Math.PI);
    c.stroke();
    c.globalAlpha = 1;
    return;
  }
  const trail = 12, arc = 0.5 / trail;
  c.fillStyle = colours.accent;
  for (let k = 0; k < trail; k++) {
    c.globalAlpha = 0.16 * (1 - k / trail);
    c.beginPath();
    c.arc(mid, mid, r1, angle - arc * (k + 1), angle - arc * k);
    c.arc(mid, mid, r0, angle - arc * k, angle - arc * (k + 1), true);
    c.fill();
  }
  c.globalAlpha = 1;
  c.strokeStyle = c.fillStyle = colours.strong;
  c.lineWidth = 2;
  c.beginPath();
  c.moveTo(mid + (r0 - 6) * Math.cos(angle), mid + (r0 - 6) * Math.sin(angle));
  c.lineTo(mid + r1 * Math.cos(angle), mid + r1 * Math.sin(angle));
  c.stroke();
  c.beginPath();
  c.arc(mid + (r0 - 6) * Math.cos(angle), mid + (r0 - 6) * Math.sin(angle), 3, 0, 2 * Math.PI);
  c.fill();
}

// ---- rates

const series = [["accepted", "scheduled"], ["cancelled", "cancelled"], ["resets", "reset"], ["expired", "expired"]];

// ratesOf returns the rates a second over the second before each sample.
function ratesOf(samples, field) {
  const rates = [];
  for (let i = 4; i < samples.length; i++) {
    const a = samples[i - 4], b = samples[i];
    rates.push([b.t, Math.max(0, (b[field] - a[field]) / Math.max((b.t - a.t) / 1e9, 1e-3))]);
  }
  return rates;
}

function drawRates() {
  const samples = history.get(selected) || [];
  const lines = series.map(([field]) => ratesOf(samples, field));
  const items = fit($("legend"), series.length, i => {
    const li = make("li", series[i][1] + " ", make("b"));
    li.style.setProperty("--key", `var(--${series[i][1]})`);
    return li;
  });
  lines.forEach((line, i) => set(items[i].lastChild, line.length ? rate(line.at(-1)[1]) : "–"));
  const [c, w, h] = canvas($("rates")), left = 52, bottom = h - 18, top = 6;
  const most = niceAbove(Math.max(1, ...lines.flat().map(p => p[1])));
  const end = samples.length ? samples.at(-1).t : 0, span = minutes * 6e10;
  const x = t => w - (end - t) / span * (w - left), y = v => bottom - v / most * (bottom - top);
  axis(c, colours, w, left, most, y);
  c.fillStyle = colours.dim;
  c.textAlign = "center";
  for (let s = 30; s < minutes * 60; s += 30) c.fillText(`${s} s ago`, x(end - s * 1e9), h - 3);
  lines.forEach((line, i) => {
    if (line.length < 2) return;
    c.beginPath();
    for (const [t, v] of line) c.lineTo(Math.max(left, x(t)), y(v));
    c.strokeStyle = colours[series[i][1]];
    c.lineWidth = 1.8;
    c.lineJoin = "round";
    c.stroke();
    c.lineTo(x(line.at(-1)[0]), bottom);
    c.lineTo(Math.max(left, x(line[0][0])), bottom);
    c.globalAlpha = 0.1;
    c.fillStyle = colours[series[i][1]];
    c.fill();
    c.globalAlpha = 1;
  });
  $("rates").setAttribute("aria-label", series.map(([, name], i) => `${name} ${lines[i].length ? rate(lines[i].at(-1)[1]) : 0} a second`).join(", "));
}

function axis(c, colours, w, left, most, y) {
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "right";
  for (let i = 0; i <= 4; i++) {
    const v = most * i / 4;
    c.strokeStyle = colours.line;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(left, Math.round(y(v)) + 0.5);
    c.lineTo(w, Math.round(y(v)) + 0.5);
    c.stroke();
    c.fillStyle = colours.dim;
    c.fillText(v >= 1e6 ? trim(v / 1e6) + " M" : v >= 1e4 ? trim(v / 1e3) + " k" : trim(v), left - 8, y(v) + 4);
  }
}

// niceAbove returns a number not below v at which an axis can end.
function niceAbove(v) {
  const size = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 4, 6, 8, 10].map(n => n * size).find(n => n >= v);
}

// ---- lateness

// recent returns the counts of the last ten seconds.
function recent(samples) {
  const last = samples.at(-1), before = samples[Math.max(0, samples.length - 41)];
  return last && last.counts ? last.counts.map((n, i) => n - (samples.length > 40 ? before.counts[i] : samples[0].counts[i])) : [];
}

function quantile(counts, q) {
  const all = counts.reduce((a, b) => a + b, 0);
  let seen = 0;
  for (let i = 0; i < counts.length; i++) if (all && (seen += counts[i]) >= q * all) return bounds[Math.min(i, bounds.length - 2)];
  return NaN;
}

function drawLateness(stats) {
  const samples = history.get(selected) || [], now = recent(samples), ever = stats && stats.lateness ? stats.lateness.counts : [];
  for (const [id, q] of [["p50", 0.5], ["p99", 0.99]]) {
    let v = quantile(now, q);
    if (isNaN(v)) v = quantile(ever, q);
    set($(id), isNaN(v) ? "–" : duration(v));
  }
  set($("lag"), stats ? duration(stats.lag_ns) : "–");
  set($("max-lag"), stats ? duration(stats.max_lag_ns) : "–");
  const [c, w, h] = canvas($("lateness")), bottom = h - 18;
  let first = ever.findIndex(n => n > 0), last = ever.findLastIndex(n => n > 0);
  if (first < 0) { first = 12; last = 30; }
  first = Math.max(0, Math.min(first, last - 11) - 1);
  last = Math.min(bounds.length - 1, Math.max(last, first + 12) + 1);
  const step = w / (last - first + 1);
  const bars = (counts, colour, alpha) => {
    const most = Math.max(1, ...counts);
    c.fillStyle = colour;
    c.globalAlpha = alpha;
    for (let i = first; i <= last; i++) {
      const height = counts[i] ? Math.max(2, (bottom - 6) * Math.log1p(counts[i]) / Math.log1p(most)) : 0;
      c.beginPath();
      c.roundRect((i - first) * step + 1, bottom - height, step - 2, height, [3, 3, 0, 0]);
      c.fill();
    }
    c.globalAlpha = 1;
  };
  bars(ever, colours.dim, 0.3);
  bars(now, colours.expired, 0.9);
  c.strokeStyle = colours.line;
  c.beginPath();
  c.moveTo(0, bottom + 0.5);
  c.lineTo(w, bottom + 0.5);
  c.stroke();
  c.font = "11px system-ui, sans-serif";
  c.fillStyle = colours.dim;
  c.textAlign = "center";
  const every = Math.ceil(60 / step / 2) * 2;
  for (let i = first + 1; i < last; i += every) c.fillText("≤\u202f" + duration(bounds[i]), Math.max(26, (i - first + 0.5) * step), h - 3);
  $("lateness").setAttribute("aria-label", `Lateness: half of the tasks within ${$("p50").textContent}, 99 percent within ${$("p99").textContent}`);
}

// ---- lists

function drawCounts(stats) {
  list($("counts"), !stats ? [] : [
    ["pending", count(stats.pending)], ["scheduled", count(stats.accepted)], ["cancelled", count(stats.cancelled)], ["reset, about", count(stats.resets)],
    ["expired", count(stats.expired)], ["returned by Stop", count(stats.unprocessed)],
    ["refused by the limit", count(stats.rejected), stats.rejected],
    ["in the intake", count(stats.intake)], ["intake not empty for", duration(stats.intake_age_ns)],
    ["ticks", count(stats.ticks)], ["wake-ups", count(stats.wakeups)], ["deferred ticks", count(stats.deferred_ticks)],
  ]);
  const samples = history.get(selected) || [], last = samples.at(-1), before = samples[Math.max(0, samples.length - 41)];
  const busy = last && last.t > before.t ? (last.taskTime - before.taskTime) / (last.t - before.t) : 0;
  list($("slow"), !stats ? [] : [
    ["busy with tasks", (busy * 100).toFixed(1) + "\u202f%"], ["waiting in the executor", count(stats.executor_waiting)],
    ["failed", count(stats.failed), stats.failed], ["panicked", count(stats.panics), stats.panics],
    ["refused by the executor", count(stats.executor_rejected), stats.executor_rejected],
    ["slow", count(stats.slow_tasks), stats.slow_tasks],
    ["slowest in the last minute", stats.slowest_task ? duration(stats.slowest_task_time_ns) : "–"],
    ["", short(stats.slowest_task || ""), "wide"],
  ]);
}

function drawWaiting() {
  const w = waiting[selected];
  bars($("tasks"), w ? w.tasks : []);
  bars($("sites"), w && w.sites || []);
  $("sites-title").hidden = !(w && w.sites && w.sites.length);
  const next = w && w.next || [];
  const rows = fit($("next"), next.length, () => make("tr", make("td"), make("td")));
  next.forEach((e, i) => {
    const name = e.scheduled_at ? `${e.task}, ${e.scheduled_at}` : e.task;
    set(rows[i].lastChild, short(e.task));
    rows[i].lastChild.title = name;
  });
  drawAge();
}

// short leaves out the folders of a task's name.
const short = name => name.replace(/\(\/\S*\/([^/]+)\)$/, "($1)").replace(/^\S*\/(?=[^/]*$|[^/]* \()/, "");

function bars(ol, groups) {
  const most = groups.reduce((n, g) => Math.max(n, g.count), 1);
  const rows = fit(ol, groups.length, () => make("li", make("i"), make("span"), make("b")));
  groups.forEach((g, i) => {
    const [bar, name, number] = rows[i].children;
    bar.style.transform = `scaleX(${g.count / most})`;
    set(name, "\u200e" + short(g.name));
    name.title = g.name;
    set(number, count(g.count));
  });
}

// drawAge shows how old the scan is, and how long the next timeouts have left.
function drawAge() {
  const w = waiting[selected], past = performance.now() - waitingAt;
  set($("age"), w ? `${count(w.total)} timeouts, seen ${Math.round(past / 1000)} s ago in ${duration(w.took_ns)}` : "");
  const rows = $("next").children, next = w && w.next || [];
  const lefts = next.map(e => e.deadline === null ? Infinity : e.left_ns - past * 1e6);
  const gone = lefts.filter(left => left <= 0).length;
  lefts.forEach((left, i) => {
    if (!rows[i]) return;
    rows[i].hidden = left <= 0 && i < next.length - 12; // but the list is never empty
    rows[i].className = left <= 0 ? "gone" : "";
    set(rows[i].firstChild, left === Infinity ? "never" : left > 0 ? duration(left) : "was due");
  });
  set($("gone"), gone ? `${gone} of ${next.length} were due since the look` : "");
}

// ---- sections of others

// value returns a cell as text.
function value(v) {
  if (v === null) return "–";
  if (typeof v === "number") return Number.isInteger(v) ? count(v) : trim(v);
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (typeof v !== "object") return v;
  return "ns" in v ? duration(v.ns) : new Date(v.time).toLocaleString();
}

const size = v => Math.max(0, typeof v === "number" ? v : v && v.ns || 0);

// fitSections makes an empty section for each title.
function fitSections(titles) {
  const els = fit($("sections"), titles.length, i => {
    const title = make("h2"), error = make("p"), blocks = make("div"), el = make("section", title, error, blocks);
    el.className = "own";
    title.id = "section-" + i;
    el.setAttribute("aria-labelledby", title.id);
    error.className = "error";
    error.hidden = true;
    blocks.className = "blocks";
    return el;
  });
  titles.forEach((title, i) => set(els[i].firstChild, title));
}

function drawSection({ index, error, blocks }) {
  const el = $("sections").children[index];
  if (!el) return;
  const [, problem, parent] = el.children;
  set(problem, error || "");
  problem.hidden = !error;
  // What was seen before an error stays, dimmed.
  el.classList.toggle("stale", Boolean(error) && !blocks.length);
  if (error && !blocks.length) return;
  const els = fit(parent, blocks.length, makeBlock);
  blocks.forEach((b, i) => drawBlock(els[i], b));
}

function makeBlock() {
  const bars = make("ol"), scroll = make("div", make("table", make("thead", make("tr")), make("tbody"))), more = make("p");
  bars.className = "bars";
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  more.className = "note";
  return make("div", make("h3"), make("dl"), bars, scroll, more);
}

function drawBlock(el, { title, figures, bars, columns, rows, more }) {
  const [heading, dl, ol, scroll, note] = el.children;
  set(heading, title || "");
  heading.hidden = !title;
  list(dl, (figures || []).map(f => [f.name, value(f.value), f.bad]));
  drawOwnBars(ol, bars || []);
  scroll.hidden = !(columns || []).length;
  el.className = (columns || []).length > 3 ? "broad" : "";
  const [head, body] = scroll.firstChild.children;
  cells(head.firstChild, columns || [], "th");
  const trs = fit(body, (rows || []).length, () => make("tr"));
  (rows || []).forEach((row, i) => cells(trs[i], row.map(value), "td"));
  set(note, more ? `and ${count(more)} more` : "");
  note.hidden = !more;
}

function drawOwnBars(ol, items) {
  const most = items.reduce((n, b) => Math.max(n, size(b.value)), 0) || 1;
  const rows = fit(ol, items.length, () => make("li", make("i"), make("span"), make("b")));
  items.forEach((b, i) => {
    const [bar, name, number] = rows[i].children;
    bar.style.transform = `scaleX(${size(b.value) / most})`;
    bar.className = b.bad ? "bad" : "";
    set(name, b.name);
    set(number, value(b.value));
  });
}

// cells shows texts in a row of a table.
function cells(tr, texts, kind) {
  const els = fit(tr, texts.length, () => make(kind));
  texts.forEach((text, i) => {
    set(els[i], text);
    if (kind === "th") els[i].scope = "col"; else els[i].title = text;
  });
}

function drawLeaks(leaks) {
  $("no-leaks").hidden = leaks.length > 0;
  const els = fit($("leaks"), leaks.length, () => make("details", make("summary"), make("pre")));
  leaks.forEach((l, i) => {
    set(els[i].firstChild, `${l.type}, ${new Date(l.at).toLocaleTimeString()}`);
    set(els[i].lastChild, l.text);
  });
}

// ---- timers

const statsOf = name => (timers.find(t => t.name === name) || {}).stats;

function drawTimers() {
  if (!timers.some(t => t.name === selected)) select(timers.length ? timers[0].name : "");
  const others = $("sections").children.length > 0;
  $("empty").hidden = timers.length > 0 || others;
  $("timers").hidden = timers.length === 0;
  document.body.classList.toggle("alone", timers.length === 0 && others);
  const els = fit($("timers"), timers.length, () => {
    const b = make("button", make("b"), make("span"));
    b.type = "button";
    b.addEventListener("click", () => select(b.dataset.name));
    return b;
  });
  timers.forEach((t, i) => {
    const b = els[i];
    b.dataset.name = t.name;
    b.setAttribute("aria-pressed", String(t.name === selected));
    set(b.firstChild, t.name);
    set(b.lastChild, `${t.type}${t.workers > 1 ? ` × ${t.workers}` : ""}${t.stats ? `, ${count(t.stats.pending)}` : ""}`);
  });
}

function select(name) {
  if (name === selected) return;
  selected = name;
  redrawAll();
}

function redrawAll() {
  if (!ramp.length) return;
  drawTimers();
  drawWheels();
  drawHands();
  drawStats();
  drawWaiting();
}

function drawStats() {
  const stats = statsOf(selected);
  drawRates();
  drawLateness(stats);
  drawCounts(stats);
}

// ---- events

const receive = {
  hello(data) {
    if (data.instance !== instance) history.clear(); // the server is another, or was started again
    instance = data.instance;
    bounds = data.bounds_ns;
    fitSections(data.sections);
  },
  stats(data) {
    timers = data.timers;
    for (const t of timers) {
      if (!t.stats) continue;
      const samples = history.get(t.name) || [], s = t.stats;
      // The server's clock begins anew when nobody looked for a while, and counts
      // never fall unless the timer is another.
      if (samples.length && (data.uptime_ns < samples.at(-1).t || s.accepted < samples.at(-1).accepted)) samples.length = 0;
      samples.push({ t: data.uptime_ns, accepted: s.accepted, cancelled: s.cancelled, resets: s.resets, expired: s.expired, counts: s.lateness.counts, taskTime: s.task_time_ns });
      if (samples.length > keep) samples.splice(0, samples.length - keep);
      history.set(t.name, samples);
    }
    for (const name of history.keys()) if (!timers.some(t => t.name === name)) history.delete(name);
    drawTimers();
    drawStats();
    drawAge();
    drawLeaks(data.leaks);
  },
  rings(data) {
    rings = data.timers;
    ringsAt = performance.now();
    drawWheels();
  },
  problem(data) {
    set($("problem"), data);
    $("problem").hidden = false;
  },
  section: drawSection,
  waiting(data) {
    waiting = data.timers;
    waitingAt = performance.now();
    drawWaiting();
  },
};

page.receive = receive;
let events = null, retry = 0, again = 0;

function state(text, kind) {
  set($("state"), text);
  $("state").className = kind;
}

function open() {
  clearTimeout(again);
  if (events || paused || document.hidden) return;
  events = new EventSource("events");
  for (const topic in receive) events.addEventListener(topic, e => {
    const begin = performance.now();
    receive[topic](JSON.parse(e.data));
    page.scriptTime += performance.now() - begin;
    page.events++;
    retry = 0;
    state("live", "live");
  });
  events.onerror = () => {
    state("connection lost, trying again", "lost");
    if (events && events.readyState === EventSource.CLOSED) {
      shut();
      retry = Math.min(retry * 2 || 500, 10000);
      again = setTimeout(open, retry);
    }
  };
}

function shut() {
  clearTimeout(again);
  if (events) events.close();
  events = null;
}

function pause() {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  set($("pause"), paused ? "Go on" : "Pause");
  if (paused) {
    shut();
    state("paused", "");
  } else {
    state("connecting", "");
    open();
  }
}

function theme() {
  root.dataset.theme = getComputedStyle(root).colorScheme === "dark" ? "light" : "dark";
  readColours();
}

// ---- the beginning

$("pause").addEventListener("click", pause);
$("theme").addEventListener("click", theme);
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === "p") pause();
  if (e.key === "t") theme();
  if (e.key >= "1" && e.key <= "9" && timers[e.key - 1]) select(timers[e.key - 1].name);
});
document.addEventListener("visibilitychange", () => { if (document.hidden) shut(); else open(); });
matchMedia("(prefers-color-scheme: light)").addEventListener("change", readColours);

function frame() {
  if (!paused && events && !reduced.matches) {
    const begin = performance.now();
    drawHands();
    page.frames++;
    page.scriptTime += performance.now() - begin;
  }
  requestAnimationFrame(frame);
}

readColours();
open();
requestAnimationFrame(frame);
})();

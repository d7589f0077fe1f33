"use strict";
(() => {
const $ = id => document.getElementById(id);
const root = document.documentElement;
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const minutes = 2, keep = minutes * 60 * 4 + 4; // samples of each timer
const maxNext = 100; // rows of "Due next"

// State. Every event is stored here, and everything is drawn from here.
let instance = "", bounds = [], selected = "", paused = false;
let timers = [];                         // of the last event "stats"
let rings = byName({}), ringsAt = 0;     // of the last event "rings", and its arrival
let waiting = byName({}), waitingAt = 0; // of the last event "waiting", and its arrival
const history = new Map();               // by name, samples {t, accepted, cancelled, resets, expired, counts}
const page = { frames: 0, scriptTime: 0, events: 0 }; // for measurements
window.hwtPage = page;

// ---- words and numbers

// missing stands for a value that is not known yet.
const missing = "–";
function count(n) {
  const abs = Math.abs(n);
  if (abs >= 1e15) return n.toExponential(2);
  if (abs >= 1e9) return (n / 1e9).toFixed(2) + "\u202fG";
  return abs >= 1e7 ? (n / 1e6).toFixed(1) + "\u202fM" : Math.round(n).toLocaleString("en-US");
}
const rate = n => n < 10 ? n.toFixed(n > 0 && n < 9.95 ? 1 : 0) : count(n);

function duration(ns) {
  const abs = Math.abs(ns);
  for (const [unit, size, next] of [["ns", 1, 1e3], ["µs", 1e3, 1e6], ["ms", 1e6, 1e9], ["s", 1e9, 6e10], ["min", 6e10, 3.6e12], ["h", 3.6e12, 8.64e13]])
    if (abs < next) return trim(ns / size) + "\u202f" + unit;
  return trim(ns / 8.64e13) + "\u202fd";
}
const trim = x => Math.abs(x) >= 100 || Number.isInteger(x) ? x.toFixed(0) : Math.abs(x) >= 10 ? x.toFixed(1) : x.toFixed(2);

// label returns what the page shows for a timer's name.
const label = name => name || "(no name)";

// byName returns the properties of o alone: a timer may have the name of an inherited one.
function byName(o) { return Object.assign(Object.create(null), o); }

// set changes the text of an element unless it is the same.
function set(el, text) { if (el.textContent !== text) el.textContent = text; }

// make returns an element of the kind, with children.
function make(kind, ...children) {
  const el = document.createElement(kind);
  el.append(...children);
  return el;
}

// fit adds or removes children until parent has n of them. Existing ones stay.
function fit(parent, n, create) {
  while (parent.children.length > n) parent.lastChild.remove();
  while (parent.children.length < n) parent.append(create(parent.children.length));
  return parent.children;
}

// list shows rows of [name, value, bad, explanation] in a dl.
function list(dl, rows) {
  const els = fit(dl, rows.length * 2, i => document.createElement(i % 2 ? "dd" : "dt"));
  rows.forEach(([name, value, bad, explanation], i) => {
    set(els[2 * i], name);
    els[2 * i].title = explanation || "";
    set(els[2 * i + 1], value);
    els[2 * i + 1].className = bad === "wide" ? "wide" : bad ? "bad" : "";
  });
}

// ---- colors

const shades = 32;
let colors = {}, ramp = []; // ramp: from few timeouts to many
function readColors() {
  const style = getComputedStyle(root);
  for (const name of ["back", "panel", "line", "text", "dim", "strong", "accent", "scheduled", "cancelled", "reset", "expired"])
    colors[name] = style.getPropertyValue("--" + name).trim();
  // From blue to yellow with steadily changing brightness, which color-blind readers can tell apart.
  const stops = style.colorScheme === "dark"
    ? [[38, 70, 128], [62, 104, 150], [92, 138, 160], [134, 170, 150], [190, 200, 110], [250, 228, 66]]
    : [[196, 204, 130], [134, 170, 140], [84, 140, 160], [46, 104, 158], [24, 68, 136], [4, 34, 92]];
  ramp = Array.from({ length: shades }, (_, i) => {
    const x = i / (shades - 1) * (stops.length - 1), k = Math.min(Math.floor(x), stops.length - 2);
    return `rgb(${stops[k].map((v, j) => Math.round(v + (stops[k + 1][j] - v) * (x - k)))})`;
  });
  redrawAll();
}

// The sizes of canvases in CSS pixels are remembered, because reading one forces the
// browser to lay out the page.
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
    note = r.length ? r.map(l => `${count(l.buckets)} buckets of ${duration(l.span_ns)}, one rotation in ${duration(l.span_ns * l.buckets)}`).join("; ") + "." : "The wheel is empty.";
    const rest = stats ? stats.pending - held : 0;
    if (rest > 0 && rest > stats.pending / 100) note += ` About ${count(rest)} are still in the intake.`;
  }
  set($("wheel-note"), note);
}

function drawBuckets(dial, levels, workers, n) {
  const [c, w] = canvas(dial.buckets), mid = w / 2, band = bandsOf(levels.length, w);
  let held = 0;
  levels.forEach((ring, level) => {
    const [r0, r1] = band(level), size = ring.segments.length, most = Math.max(1, ...ring.segments);
    const gap = size > 128 ? 0.12 : 0.18, step = 2 * Math.PI / size, base = r0 + 2, height = r1 - base - 3;
    c.strokeStyle = colors.line;
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(mid, mid, r0, 0, 2 * Math.PI);
    c.stroke();
    ring.held = 0;
    const paths = new Map(); // by color, so that each is filled once
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
  dial.buckets.setAttribute("aria-label", `${held} timeouts in the buckets of wheel ${n + 1}`);
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
  c.strokeStyle = c.fillStyle = colors.strong;
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
  c.fillStyle = colors.accent;
  for (let k = 0; k < trail; k++) {
    c.globalAlpha = 0.16 * (1 - k / trail);
    c.beginPath();
    c.arc(mid, mid, r1, angle - arc * (k + 1), angle - arc * k);
    c.arc(mid, mid, r0, angle - arc * k, angle - arc * (k + 1), true);
    c.fill();
  }
  c.globalAlpha = 1;
  c.strokeStyle = c.fillStyle = colors.strong;
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

// ratesOf returns the rates per second, each over the second before its sample.
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
  lines.forEach((line, i) => set(items[i].lastChild, line.length ? rate(line.at(-1)[1]) : missing));
  const [c, w, h] = canvas($("rates")), left = 64, bottom = h - 18, top = 6;
  const most = niceAbove(Math.max(1, ...lines.flat().map(p => p[1])));
  const end = samples.length ? samples.at(-1).t : 0, span = minutes * 6e10;
  const x = t => w - (end - t) / span * (w - left), y = v => bottom - v / most * (bottom - top);
  axis(c, colors, w, left, most, y);
  c.fillStyle = colors.dim;
  c.textAlign = "center";
  for (let s = 30; s < minutes * 60; s += 30) c.fillText(`${s} s ago`, x(end - s * 1e9), h - 3);
  lines.forEach((line, i) => {
    if (line.length < 2) return;
    c.beginPath();
    for (const [t, v] of line) c.lineTo(Math.max(left, x(t)), y(v));
    c.strokeStyle = colors[series[i][1]];
    c.lineWidth = 1.8;
    c.lineJoin = "round";
    c.stroke();
    c.lineTo(x(line.at(-1)[0]), bottom);
    c.lineTo(Math.max(left, x(line[0][0])), bottom);
    c.globalAlpha = 0.1;
    c.fillStyle = colors[series[i][1]];
    c.fill();
    c.globalAlpha = 1;
  });
  $("rates").setAttribute("aria-label", series.map(([, name], i) => `${name} ${lines[i].length ? rate(lines[i].at(-1)[1]) : 0} per second`).join(", "));
}

function axis(c, colors, w, left, most, y) {
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "right";
  for (let i = 0; i <= 4; i++) {
    const v = most * i / 4;
    c.strokeStyle = colors.line;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(left, Math.round(y(v)) + 0.5);
    c.lineTo(w, Math.round(y(v)) + 0.5);
    c.stroke();
    c.fillStyle = colors.dim;
    c.fillText(v >= 1e7 ? trim(v / 1e6) + "\u202fM" : Number.isInteger(v) ? count(v) : v.toFixed(v < 1 ? 2 : 1), left - 8, y(v) + 4);
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

// The lateness histogram as drawn: the values of hovered bars are read from here.
let late = { first: 0, step: 1, left: 0, now: [], ever: [] };

function drawLateness(stats) {
  const now = recent(history.get(selected) || []), ever = stats && stats.lateness ? stats.lateness.counts : [];
  drawQuantiles(stats, now, ever);
  const [c, w, h] = canvas($("lateness")), left = 52, top = 8, bottom = h - 18;
  let first = ever.findIndex(n => n > 0), last = ever.findLastIndex(n => n > 0);
  if (first < 0) { first = 12; last = 30; }
  first = Math.max(0, Math.min(first, last - 11) - 1);
  last = Math.min(bounds.length - 1, Math.max(last, first + 12) + 1);
  const step = (w - left) / (last - first + 1), most = Math.max(10, ...ever);
  const y = n => bottom - (bottom - top) * Math.log1p(n) / Math.log1p(most);
  late = { first, last, step, left, now, ever };
  c.font = "11px system-ui, sans-serif";
  c.lineWidth = 1;
  c.textAlign = "right";
  for (let n = 0; n <= most; n = n ? n * 10 : 1) {
    c.strokeStyle = colors.line;
    c.beginPath();
    c.moveTo(left, Math.round(y(n)) + 0.5);
    c.lineTo(w, Math.round(y(n)) + 0.5);
    c.stroke();
    c.fillStyle = colors.dim;
    if (n !== 1) c.fillText(count(n), left - 8, y(n) + 4);
  }
  const bars = (counts, color, inset) => {
    c.fillStyle = color;
    for (let i = first; i <= last; i++) {
      if (!counts[i]) continue;
      const top = Math.min(y(counts[i]), bottom - 2);
      c.beginPath();
      c.roundRect(left + (i - first) * step + inset, top, Math.max(1, step - 2 * inset), bottom - top, [2, 2, 0, 0]);
      c.fill();
    }
  };
  c.globalAlpha = 0.45;
  bars(ever, colors.dim, 1);
  c.globalAlpha = 1;
  bars(now, colors.expired, Math.max(1, step / 5));
  c.fillStyle = colors.dim;
  c.textAlign = "center";
  const every = Math.max(1, Math.ceil(64 / step));
  for (let i = first + 1; i < last; i += every) c.fillText("≤\u202f" + duration(bounds[i]), left + (i - first + 0.5) * step, h - 3);
  $("lateness").setAttribute("aria-label", `Lateness: half of the tasks within ${$("p50").textContent}, 99 percent within ${$("p99").textContent}`);
  drawHovered();
}

function drawQuantiles(stats, now, ever) {
  for (const [id, q] of [["p50", 0.5], ["p99", 0.99]]) {
    let v = quantile(now, q);
    if (isNaN(v)) v = quantile(ever, q);
    setTime($(id), v);
  }
  const used = stats && stats.accepted > 0;
  setTime($("lag"), used ? stats.lag_ns : NaN);
  setTime($("max-lag"), used ? stats.max_lag_ns : NaN);
}

// isLate reports whether a lateness is no longer due to ticks: beyond a second, and two ticks.
function isLate(ns) {
  const worker = (rings[selected] || [])[0], tick = worker && worker[0] ? worker[0].span_ns : 0;
  return ns > Math.max(1e9, 2 * tick);
}

// setTime shows a lateness in an element, and highlights a bad one.
function setTime(el, ns) {
  set(el, isNaN(ns) ? missing : duration(ns));
  el.className = isLate(ns) ? "bad" : "";
}

let hovered = -1; // the position of the pointer on the histogram in pixels; negative if elsewhere

// drawHovered writes the values of the hovered bar.
function drawHovered() {
  const i = late.first + Math.floor((hovered - late.left) / late.step);
  const inside = hovered >= late.left && i <= late.last;
  const range = i + 1 < bounds.length ? `up to ${duration(bounds[i])}` : "longer";
  set($("late-bar"), inside ? `${range}: ${count(late.now[i] || 0)} in the last ten seconds, ${count(late.ever[i] || 0)} since the start` : "");
}

// ---- lists

function drawCounts(stats) {
  list($("counts"), !stats ? [] : [
    ["pending", count(stats.pending)], ["scheduled", count(stats.accepted)],
    ["cancelled", count(stats.cancelled)], ["reset", "≈\u202f" + count(stats.resets), false, "an estimate: one Reset in 64 is counted"],
    ["expired", count(stats.expired)], ["unprocessed", count(stats.unprocessed), false, "returned by Stop"],
    ["rejected", count(stats.rejected), stats.rejected, "schedules beyond the pending limit"], ["wake-ups", count(stats.wakeups)],
    ["intake", count(stats.intake), false, "timeouts on their way to the wheel"], ["intake age", duration(stats.intake_age_ns), isLate(stats.intake_age_ns), "time since the intake was empty"],
    ["ticks", count(stats.ticks)], ["deferred ticks", count(stats.deferred_ticks), false, "ticks that began before the intake was drained"],
  ]);
  const samples = history.get(selected) || [], last = samples.at(-1), before = samples[Math.max(0, samples.length - 41)];
  const busy = last && last.t > before.t ? (last.taskTime - before.taskTime) / (last.t - before.t) : NaN;
  list($("slow"), !stats ? [] : [
    ["busy with tasks", isNaN(busy) ? missing : (busy * 100).toFixed(1) + "\u202f%"], ["waiting in the executor", count(stats.executor_waiting)],
    ["failed", count(stats.failed), stats.failed], ["panicked", count(stats.panics), stats.panics],
    ["rejected by the executor", count(stats.executor_rejected), stats.executor_rejected],
    ["slow", count(stats.slow_tasks), stats.slow_tasks],
    ["slowest in the last minute", stats.slowest_task ? duration(stats.slowest_task_time_ns) : missing],
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

// short removes the folders from a task's name.
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

// unseen says why the selected timer has no scan.
function unseen() {
  const t = timers.find(t => t.name === selected);
  return !t ? "" : t.listed ? "scanning the pending timeouts" : "this timer does not list its timeouts";
}

// drawAge shows the age of the scan, and the time left to the timeouts that are due next.
function drawAge() {
  const w = waiting[selected], past = performance.now() - waitingAt;
  set($("age"), w ? `${count(w.total)} timeouts, seen ${Math.round(past / 1000)} s ago in ${duration(w.took_ns)}` : unseen());
  const rows = $("next").children, next = w && w.next || [];
  let shown = 0;
  next.forEach((e, i) => {
    if (!rows[i]) return;
    const left = e.deadline === null ? Infinity : e.left_ns - past * 1e6;
    rows[i].hidden = left <= 0 || shown >= maxNext;
    if (rows[i].hidden) return;
    shown++;
    set(rows[i].firstChild, left === Infinity ? "never" : duration(left));
  });
  set($("sample"), !w ? unseen() : !shown && w.total ? "waiting for the next scan" : w.sampled ? "a sample" : "");
}

// ---- sections

// value returns a cell as text.
function value(v) {
  if (v === null) return missing;
  if (typeof v === "number") return Number.isInteger(v) ? count(v) : trim(v);
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (typeof v !== "object") return v;
  return "ns" in v ? duration(v.ns) : new Date(v.time).toLocaleString();
}

const size = v => Math.max(0, typeof v === "number" ? v : v && v.ns || 0);

// fitSections shows an empty section for each title.
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
  // The blocks from before an error stay, dimmed.
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

// cells shows texts in a table row.
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
    b.dataset.name = b.title = t.name;
    b.setAttribute("aria-pressed", String(t.name === selected));
    set(b.firstChild, label(t.name));
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

// shrinks reports whether a sample has a smaller uptime or count than the one before: of a
// restarted server, or of another timer with the same name.
const shrinks = (before, now) => Object.keys(now).some(field => field === "counts"
  ? now.counts.some((n, i) => n < before.counts[i]) : now[field] < before[field]);

const receive = {
  hello(data) {
    if (data.instance !== instance) history.clear(); // another server, or a restarted one
    instance = data.instance;
    bounds = data.bounds_ns;
    fitSections(data.sections);
  },
  stats(data) {
    timers = data.timers;
    for (const t of timers) {
      if (!t.stats) continue;
      const samples = history.get(t.name) || [], s = t.stats;
      const now = { t: data.uptime_ns, accepted: s.accepted, cancelled: s.cancelled, resets: s.resets, expired: s.expired, counts: s.lateness.counts, taskTime: s.task_time_ns };
      if (samples.length && shrinks(samples.at(-1), now)) samples.length = 0;
      samples.push(now);
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
    rings = byName(data.timers);
    ringsAt = performance.now();
    drawWheels();
  },
  section: drawSection,
  waiting(data) {
    waiting = byName(data.timers);
    waitingAt = performance.now();
    drawWaiting();
  },
};

const problems = {}; // by topic

// failed shows the problems of the last readings, and reports whether a topic has one.
function failed(topic, data) {
  if (topic === "section") return false; // shows its own
  problems[topic] = data.error;
  const text = Object.values(problems).find(Boolean);
  set($("problem"), text || "");
  $("problem").hidden = !text;
  return Boolean(data.error);
}

page.receive = receive;
let events = null, retry = 0, again = 0;

function state(text, kind) {
  set($("state"), text);
  $("state").className = kind;
  document.body.classList.toggle("lost", kind === "lost");
}

function open() {
  clearTimeout(again);
  if (events || paused || document.hidden) return;
  events = new EventSource("events");
  for (const topic in receive) events.addEventListener(topic, e => {
    const begin = performance.now();
    const data = JSON.parse(e.data);
    if (!failed(topic, data)) receive[topic](data);
    page.scriptTime += performance.now() - begin;
    page.events++;
    retry = 0;
    state("live", "live");
  });
  events.onerror = () => {
    state("connection lost, reconnecting", "lost");
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
  set($("pause"), paused ? "Resume" : "Pause");
  if (paused) {
    shut();
    drawHands(); // from the last event, which may have arrived after the last frame
    state("paused", "");
  } else {
    state("connecting", "");
    open();
  }
}

function theme() {
  root.dataset.theme = getComputedStyle(root).colorScheme === "dark" ? "light" : "dark";
  readColors();
}

// ---- start

$("pause").addEventListener("click", pause);
$("theme").addEventListener("click", theme);
for (const [kind, at] of [["mousemove", e => e.offsetX], ["mouseleave", () => -1]])
  $("lateness").addEventListener(kind, e => { hovered = at(e); drawHovered(); });
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === "p") pause();
  if (e.key === "t") theme();
  if (e.key >= "1" && e.key <= "9" && timers[e.key - 1]) select(timers[e.key - 1].name);
});
document.addEventListener("visibilitychange", () => { if (document.hidden) shut(); else open(); });
matchMedia("(prefers-color-scheme: light)").addEventListener("change", readColors);

function frame() {
  if (!paused && events && !reduced.matches) {
    const begin = performance.now();
    drawHands();
    page.frames++;
    page.scriptTime += performance.now() - begin;
  }
  requestAnimationFrame(frame);
}

readColors();
open();
requestAnimationFrame(frame);
})();

// The owner's page: live progress, the best point, curves, a map of the answers, raters.
import { fill, table as numbers } from "./duel.js";

const SVG = "http://www.w3.org/2000/svg";
const UNITS = { degrees: "°", "percentage points": " %-points", factor: "-fold", distance: "" };
const live = document.querySelector("#live");
const shown = {};

const site = new URL("../", import.meta.url); // where the server is shown, behind a proxy too
const PAUSE = [1000, 60000]; // ms until a stream that has ended for good is begun again: at first, at most
let pause = PAUSE[0];

// A browser begins again by itself after a lost connection, but not after an error of a proxy.
function follow() {
  const events = new EventSource(new URL("api/events", site));
  events.onopen = () => {
    pause = PAUSE[0];
    live.textContent = "Live: this page follows along.";
  };
  events.onerror = () => {
    live.textContent = "The server does not answer. Trying again …";
    if (events.readyState !== EventSource.CLOSED) return;
    setTimeout(follow, pause);
    pause = Math.min(PAUSE[1], 2 * pause);
  };
  events.onmessage = heard;
}
follow();

function heard(event) {
  const study = JSON.parse(event.data);
  const card = document.querySelector(`[data-key="${CSS.escape(study.key)}"]`);
  if (!card) return;
  const p = study.progress;
  const facts = [many(p.answered), `${p.ties} ties`, `${p.skips} skipped`, `${p.open} open`];
  if (p.remaining) facts.push(`about ${p.remaining} to go`);
  if (p.known) facts.push(`best known ${p.known}`);
  if (p.finished) facts.push(`finished (${p.finished})`);
  card.querySelector("[data-part=facts]").textContent = facts.join(" · ");
  const trouble = card.querySelector("[data-part=trouble]");
  trouble.hidden = !study.trouble;
  trouble.querySelector("pre").textContent = study.trouble ?? "";
  const bar = card.querySelector(".bar");
  if (p.share !== null) bar.setAttribute("aria-valuenow", Math.round(100 * p.share));
  bar.firstElementChild.style.transform = `scaleX(${p.share ?? 0})`;
  refresh(study.key, card, p.answered + p.skips);
}

// Curves and raters cost more than a count: at most every two seconds, and only when new.
async function refresh(key, card, count) {
  const now = Date.now();
  const last = shown[key] ?? { count: -1, at: 0 };
  if (last.count === count) return;
  if (now - last.at < 2000) {
    clearTimeout(last.timer);
    last.timer = setTimeout(() => refresh(key, card, count), 2000);
    return;
  }
  clearTimeout(last.timer);
  shown[key] = { count, at: now };
  const base = new URL(`api/studies/${key}/`, site);
  const get = async (what) => (await fetch(new URL(what, base))).json();
  const part = (name) => card.querySelector(`[data-part=${name}]`);
  try {
    const [curves, raters, result, map] = await Promise.all(
      ["convergence", "agreement", "result", "map"].map(get));
    const url = (path) => new URL(path, base);
    const best = part("best");
    best.hidden = !result.answers;
    if (result.answers) await fill(best.children[1], result.best.pane, "The best point", url);
    best.children[2].replaceChildren(...numbers(result.best.numbers, result.best.known));
    show(part("convergence"), curves.region.length + curves.away.length > 1 && chart(curves));
    show(part("map"), map.duels.length > 0 && drawn(map));
    part("raters").replaceChildren(...tables(raters));
    const liked = await Promise.all(result.raters.filter((r) => r.name).map(async (rater) => {
      const place = html("div");
      place.className = "media";
      await fill(place, rater.pane, `What ${rater.name} liked best`, url);
      const known = rater.known ? html("small", rater.known) : "";
      return html("figure", "", place, html("figcaption", "", html("b", rater.name), known));
    }));
    if (!curves.complete) {
      shown[key].count = -1;
      setTimeout(() => refresh(key, card, count), 2500);
    }
    part("liked").hidden = liked.length < 2;
    part("liked").lastElementChild.replaceChildren(...liked);
  } catch {
    shown[key].count = -1; // the next event tries again, if there is one
    shown[key].timer = setTimeout(() => refresh(key, card, count), 10000);
  }
}

function show(section, figure) {
  section.hidden = !figure;
  if (figure) section.replaceChildren(section.firstElementChild, figure);
}

function make(tag, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

function html(tag, text = "", ...children) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...children);
  return made;
}

const written = (value, unit) => `${Number(value.toPrecision(2))}${UNITS[unit] ?? ""}`;
const many = (count) => `${count} ${count === 1 ? "answer" : "answers"}`;
const share = (value) => (value === null ? "–" : `${Math.round(100 * value)} %`);

function figure(svg, ...caption) {
  const made = html("figure", "", svg, html("figcaption", "", ...caption));
  made.className = "chart";
  return made;
}

function key(kind, text) {
  const mark = html("span");
  mark.className = `key ${kind}`;
  return html("span", "", mark, text);
}

// The region shrinks as answers come; the best point moves to where it is now.
function chart({ region, away, unit }) {
  const [width, height, left, bottom] = [360, 220, 40, 22];
  const sign = unit === "degrees" ? unit : ""; // what is short enough for an axis
  const all = [...region, ...away];
  const last = Math.max(...all.map(([n]) => n), 1);
  const low = unit === "factor" ? 1 : 0; // a factor of one is no distance
  const high = Math.max(...all.map(([, v]) => v), low + 1e-9);
  const x = (n) => (left + ((width - left - 8) * n) / last).toFixed(1);
  const y = (v) => (8 + ((height - bottom - 12) * (high - v)) / (high - low)).toFixed(1);
  const path = (curve) => curve.map(([n, v], i) => `${i ? "L" : "M"}${x(n)} ${y(v)}`).join("");
  const ends = (curve) => curve.length
    ? `from ${written(curve[0][1], unit)} to ${written(curve.at(-1)[1], unit)}` : "unknown";
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `After ${many(last)}. Region of the best point: ${ends(region)}. Way of the best point to where it is now: ${ends(away)}.` });
  if (region.length > 1)
    svg.append(make("path", { class: "area", d: `${path(region)}V${y(low)}H${x(region[0][0])}Z` }));
  svg.append(
    make("path", { class: "axis", d: `M${left} 4V${y(low)}H${width - 4}`, fill: "none" }),
    make("path", { class: "curve", d: path(away) }),
    make("text", { x: left - 5, y: 14, "text-anchor": "end" }, written(high, sign)),
    make("text", { x: left - 5, y: y(low), "text-anchor": "end" }, written(low, sign)),
    make("text", { x: left, y: height - 5 }, "0"),
    make("text", { x: width - 8, y: height - 5, "text-anchor": "end" }, many(last)));
  return figure(svg, key("area", "how well the best point was known"),
    key("line", "how far it then was from the best point now"),
    sign || unit === "distance" ? "" : ` (${unit === "factor" ? "factors" : unit})`);
}

// A triangle for three weights; else the best point in the middle, at true distances.
function drawn({ kind, dim, unit, labels, best, region, raters, duels }) {
  const size = 300, edge = 26;
  const svg = make("svg", { viewBox: `0 0 ${size} ${size}`, role: "img",
    "aria-label": `A map of the choices of the last ${many(duels.length)}.` });
  let at;
  if (kind === "triangle") {
    const side = size - 2 * edge;
    at = ([u, v]) => [edge + side * u, size - edge - side * v];
    const corners = [[0, 0], [1, 0], [0.5, Math.sqrt(0.75)]].map(at);
    svg.append(make("path", { class: "axis", fill: "none", d: `M${corners.join("L")}Z` }));
    corners.forEach(([u, v], i) => svg.append(make("text", {
      x: u, y: i === 2 ? v - 8 : v + 17, "text-anchor": ["start", "end", "middle"][i] }, labels[i])));
  } else {
    const points = duels.flatMap(({ won, lost }) => [won, lost]);
    const reach = Math.max(...points.map(([u, v]) => (dim === 1 ? Math.abs(u) : Math.hypot(u, v))), 1e-9);
    const half = size / 2 - edge;
    at = dim === 1 // one answer below the other
      ? ([u, v]) => [size / 2 + (half * u) / reach, edge + ((size - 2 * edge) * v) / (duels.length + 1)]
      : ([u, v]) => [size / 2 + (half * u) / reach, size / 2 - (half * v) / reach];
    if (dim === 1) svg.append(make("path", { class: "axis", d: `M${size / 2} ${edge}V${size - edge}` }));
    else svg.append(make("circle", { class: "axis", fill: "none", cx: size / 2, cy: size / 2, r: half }));
    svg.append(make("text", { x: size - 4, y: size - 6, "text-anchor": "end" },
      `edge: ${written(reach, unit)} from the best`));
    if (region && region < reach && dim > 1)
      svg.append(make("circle", { class: "area", cx: size / 2, cy: size / 2, r: (half * region) / reach }));
  }
  for (const { won, lost } of duels) {
    const [a, b] = [at(won), at(lost)];
    svg.append(make("path", { class: "pair", d: `M${a}L${b}` }));
  }
  for (const { won, lost, tie } of duels) {
    const [a, b] = [at(won), at(lost)];
    svg.append(make("circle", { class: "lost", cx: b[0], cy: b[1], r: 3 }),
      make("circle", { class: tie ? "lost" : "won", cx: a[0], cy: a[1], r: 3 }));
  }
  if (kind === "triangle" || dim > 1) {
    const [u, v] = at(best);
    svg.append(make("circle", { class: "best", cx: u, cy: v, r: 8 }));
    const named = [];
    for (const { name, at: own } of raters.length > 1 ? raters : []) {
      const [p, q] = at(own);
      svg.append(make("path", { class: "own", d: `M${p} ${q - 4}l4 4l-4 4l-4 -4Z` }));
      if (named.some(([x, y]) => Math.abs(x - p) < 45 && Math.abs(y - q) < 12)) continue;
      named.push([p, q]);
      svg.append(make("text", { class: "own", x: p, y: q - 7, "text-anchor": "middle" }, name));
    }
  }
  const more = dim > 2 ? ", in the plane in which they vary most" : "";
  const own = raters.length > 1 ? ", diamonds what each rater liked best" : "";
  return figure(svg, key("dot", "preferred"), key("ring", "the other one"),
    `; the large ring is the best point${own}${more}`);
}

function table(caption, names, rows) {
  const head = html("tr");
  for (const name of names) {
    const cell = html("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = html("tbody", "", ...rows.map((row) => html("tr", "", ...row.map((cell) => cell instanceof Node ? html("td", "", cell) : html("td", cell)))));
  return html("table", "", html("caption", caption), html("thead", "", head), body);
}

const seconds = (value) => (value === null ? "–" : value < 0.1 ? "< 0.1 s" : value < 100 ? `${Number(value.toPrecision(2))} s` : `${Math.round(value / 60)} min`);

// A word, and what it rests on below.
function said(word, why) {
  const below = html("small", why ?? "");
  return html("div", word, ...(why ? [below] : []));
}

function tables({ raters, pairs, camps, unit }) {
  const apart = (value) => (value === null ? "–" : written(value, unit));
  const made = [];
  if (raters.length)
    made.push(table("Raters",
      ["Name", "Verdict", "Answers", "Ties", "Skips", "Usual time", "Agrees with itself", "Agrees with the result", "Own favourite: off by"],
      raters.map((r) => [r.name || "(no name)", said(r.verdict, r.evidence), r.answers, r.ties, r.skips,
        seconds(r.seconds), share(r.consistency), share(r.with_result), said(apart(r.apart), r.compared)])));
  if (camps.length)
    made.push(table("Raters who like different things", ["Raters", "How well their favourite is known"],
      camps.map((c) => [c.members.join(", "), c.uncertainty === null ? "–" : `within ${written(c.uncertainty, unit)} (80 % sure)`])));
  if (pairs.length)
    made.push(table("Agreement between raters", ["Raters", "Distance between their favourites", "Same answers"],
      pairs.map((p) => [p.raters.join(" and "), apart(p.apart), share(p.same)])));
  return made;
}

// A rater's own link: `join` returns the one there is, `revoke` voids it and returns a new one.
async function linkOf(rater, card, action) {
  const reply = await fetch(new URL(`api/studies/${card.dataset.key}/${action}`, site), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ rater }),
  });
  const content = await reply.json().catch(() => ({})); // a proxy's errors are none of ours
  if (!reply.ok) throw new Error(content.error ?? "The server does not answer. Try again.");
  return new URL(content.link, site);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-revoke]");
  if (!button) return;
  const card = button.closest("article");
  const rater = document.getElementById(button.dataset.name).value.trim();
  const said = card.querySelector("[data-part=copied]");
  const revokes = "revoke" in button.dataset;
  let link;
  try {
    if (revokes) {
      if (!rater) throw new Error("Name the rater whose link is to be taken back.");
      if (!confirm(`Nobody can open the link of ${rater} any more, after this. Go on?`)) return;
      await linkOf(rater, card, "revoke");
      said.textContent = `The link of ${rater} is void. The answers stay; Copy link makes a new link.`;
      return;
    }
    link = rater ? await linkOf(rater, card, "join") : new URL(button.dataset.copy, location.origin);
  } catch (error) {
    said.textContent = error.message;
    return;
  }
  try {
    await navigator.clipboard.writeText(link.href);
    said.textContent = `Copied: ${link.href}`;
  } catch {
    said.textContent = link.href; // to be copied by hand
  }
});

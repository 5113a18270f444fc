// The owner's page: live progress, curves, raters.

const SVG = "http://www.w3.org/2000/svg";
const CURVES = {
  uncertainty: "How well the best point is known",
  step: "Step: from one preferred point to the next",
  choices: "Distance between the two choices",
};
const live = document.querySelector("#live");
const unit = {};
const shown = {};

const site = new URL("../", import.meta.url); // where the server is shown, behind a proxy too
const events = new EventSource(new URL("api/events", site));
events.onopen = () => (live.textContent = "Live: this page follows along.");
events.onerror = () => (live.textContent = "The server does not answer. Trying again …");
events.onmessage = (event) => {
  const study = JSON.parse(event.data);
  const card = document.querySelector(`[data-key="${CSS.escape(study.key)}"]`);
  if (!card) return;
  const p = study.progress;
  unit[study.key] = p.unit;
  const facts = [`${p.answered} answers`, `${p.ties} ties`, `${p.skips} skipped`, `${p.open} open`];
  if (p.remaining) facts.push(`about ${p.remaining} to go`);
  if (p.uncertainty !== null) facts.push(`known to ±${length(p.uncertainty, p.unit)}`);
  if (p.finished) facts.push(`finished (${p.finished})`);
  card.querySelector("[data-part=facts]").textContent = facts.join(" · ");
  const trouble = card.querySelector("[data-part=trouble]");
  trouble.hidden = !study.trouble;
  trouble.querySelector("pre").textContent = study.trouble ?? "";
  const bar = card.querySelector(".bar");
  if (p.share !== null) bar.setAttribute("aria-valuenow", Math.round(100 * p.share));
  bar.firstElementChild.style.transform = `scaleX(${p.share ?? 0})`;
  refresh(study.key, card, p.answered + p.skips);
};

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
  shown[key] = { count, at: now };
  const get = async (what) => (await fetch(new URL(`api/studies/${key}/${what}`, site))).json();
  try {
    const [curves, raters] = await Promise.all([get("convergence"), get("agreement")]);
    card.querySelector("[data-part=charts]").replaceChildren(
      ...Object.entries(CURVES).filter(([name]) => curves[name].length > 1)
        .map(([name, title]) => chart(title, curves[name], unit[key])));
    card.querySelector("[data-part=raters]").replaceChildren(...tables(raters));
  } catch {
    shown[key].count = -1; // the next event tries again
  }
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

function length(value, unit) {
  const size = unit === "degrees" ? (value * 180) / Math.PI : value;
  return `${Number(size.toPrecision(2))}${unit === "degrees" ? "°" : ""}`;
}

const share = (value) => (value === null ? "–" : `${Math.round(100 * value)} %`);

// Logarithmic upwards: convergence is a straight line.
function chart(title, curve, unit) {
  const [width, height, left, bottom] = [320, 150, 44, 20];
  const positive = curve.filter(([, y]) => y > 0);
  const ys = positive.map(([, y]) => Math.log(y));
  const room = Math.max(...ys) - Math.min(...ys) < 0.02 ? 0.5 : 0; // a constant runs in the middle
  const [low, high] = [Math.min(...ys) - room, Math.max(...ys) + room];
  const [first, last] = [curve[0][0], curve.at(-1)[0]];
  const x = (n) => left + ((width - left - 6) * (n - first)) / Math.max(1, last - first);
  const y = (v) => 6 + ((height - bottom - 12) * (high - Math.log(v))) / Math.max(1e-9, high - low);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${title}: from ${length(curve[0][1], unit)} to ${length(curve.at(-1)[1], unit)} after ${last} answers` });
  svg.append(
    make("path", { class: "axis", d: `M${left} 4V${height - bottom}H${width - 4}`, fill: "none" }),
    make("path", { class: "curve", d: positive.map(([n, v], i) => `${i ? "L" : "M"}${x(n).toFixed(1)} ${y(v).toFixed(1)}`).join("") }),
    make("text", { x: left - 5, y: 14, "text-anchor": "end" }, length(Math.exp(high), unit)),
    make("text", { x: left - 5, y: height - bottom, "text-anchor": "end" }, length(Math.exp(low), unit)),
    make("text", { x: left, y: height - 5 }, `${first}`),
    make("text", { x: width - 6, y: height - 5, "text-anchor": "end" }, `${last} answers`));
  const figure = html("figure", "", svg, html("figcaption", title));
  figure.className = "chart";
  return figure;
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

// A word, and what it rests on below.
function said(word, why) {
  const below = html("small", why ?? "");
  return html("div", word, ...(why ? [below] : []));
}

function tables({ raters, pairs, camps, unit }) {
  const apart = (value) => (value === null ? "–" : length(value, unit));
  const made = [];
  if (raters.length)
    made.push(table("Raters",
      ["Name", "Verdict", "Answers", "Ties", "Skips", "Agrees with itself", "Agrees with the result", "Own best is off by"],
      raters.map((r) => [r.name || "(no name)", said(r.verdict, r.evidence), r.answers, r.ties, r.skips,
        share(r.consistency), share(r.with_result), said(apart(r.apart), r.compared)])));
  if (camps.length)
    made.push(table("Raters who like different things", ["Raters", "Their best point is known to"],
      camps.map((c) => [c.members.join(", "), c.uncertainty === null ? "–" : `±${length(c.uncertainty, unit)}`])));
  if (pairs.length)
    made.push(table("Agreement between raters", ["Raters", "Their best points are apart by", "Same answers"],
      pairs.map((p) => [p.raters.join(" and "), apart(p.apart), share(p.same)])));
  return made;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const card = button.closest("article");
  const rater = document.getElementById(button.dataset.name).value.trim();
  const said = card.querySelector("[data-part=copied]");
  let link = new URL(button.dataset.copy, location.origin);
  if (rater) {
    const reply = await fetch(new URL(`api/studies/${card.dataset.key}/join`, site), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ rater }),
    });
    const content = await reply.json();
    if (!reply.ok) {
      said.textContent = content.error;
      return;
    }
    link = new URL(content.link, site);
  }
  try {
    await navigator.clipboard.writeText(link.href);
    said.textContent = `Copied: ${link.href}`;
  } catch {
    said.textContent = link.href; // to be copied by hand
  }
});

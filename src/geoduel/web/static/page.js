// The duel page: talks to the server by fetch.
import { mount } from "./duel.js";

const root = document.querySelector("main");
const { key, rater, question, lang, solo } = root.dataset;
const site = new URL("../", import.meta.url).pathname; // where the server is shown, behind a proxy too
const base = `${site}api/studies/${key}/`;

async function send(action, body) {
  const asking = action === "history";
  const path = asking ? `history?${new URLSearchParams({ rater: body.rater, start: body.start })}` : action;
  const late = new AbortController(); // AbortSignal.timeout is missing in older browsers
  setTimeout(() => late.abort(), 15000);
  let reply;
  try {
    reply = await fetch(base + path, {
      method: asking ? "GET" : "POST",
      headers: asking ? {} : { "Content-Type": "application/json" },
      body: asking ? undefined : JSON.stringify(body),
      signal: late.signal,
      cache: "no-store",
    });
  } catch {
    throw Object.assign(new Error("no connection"), { status: 0 });
  }
  const content = await reply.json().catch(() => ({}));
  if (!reply.ok) throw Object.assign(new Error(content.error), { status: reply.status });
  if (["finish", "act"].includes(action) && content.following) content.following = `${site}s/${content.following}`;
  return content;
}

// The page of a tool brings its own ending: what is done with the best point.
const ending = root.dataset.ending && (await import(`./${root.dataset.ending}`)).default;

mount(root, {
  send,
  url: (path) => base + path,
  preload: (path) => fetch(base + path, { priority: "low" }).catch(() => {}),
}, { rater, question, lang, solo: solo === "true", page: true, ending });

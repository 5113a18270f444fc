// The duel: two choices side by side. One script for the page and for the notebook.
//
// `server.send(action, body)` asks for questions and tells answers; it resolves to the reply or
// rejects with an error that has a `status` (0: no connection). `server.url(path)` is where a
// pane's picture is found.

const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "tie", ArrowDown: "skip" };
const SIDES = ["left", "right"];
const PASSING = [0, 429, 502, 503, 504]; // no connection, too many requests, a server that is away
const PAUSE = 200; // ms in which a question takes no answer: nobody can have looked at it

const HINT = matchMedia("(hover: none)").matches
  ? "Tap the one you prefer." : "Click the one you prefer, or press ← or →.";

const MARKUP = `
  <div class="bar" role="progressbar" aria-label="Progress of the study" aria-valuemin="0"
    aria-valuemax="100"><span></span></div>
  <p class="hidden" role="status" data-part="status"></p>
  <div class="notice" role="alert" data-part="notice" hidden></div>
  <section class="ask" data-part="ask">
    <h1 data-part="question"></h1>
    <div class="panes">
      ${SIDES.map((side, i) => `
      <section class="pane" data-side="${side}" aria-label="${i ? "Second" : "First"} choice">
        <div class="media"></div>
        <button type="button" class="choose" data-answer="${side}"><kbd>${i ? "→" : "←"}</kbd>
          This one<span class="hidden">, the ${i ? "second" : "first"}</span></button>
      </section>`).join("")}
    </div>
    <div class="tools" role="group" aria-label="Other answers and tools">
      <button type="button" data-do="undo"><kbd>Z</kbd> Undo</button>
      <button type="button" data-answer="tie"><kbd>↑</kbd> Can’t tell</button>
      <button type="button" data-answer="skip"><kbd>↓</kbd> Skip</button>
      <span class="gap"></span>
      <span class="view" data-part="view">
        <button type="button" data-do="grid" aria-pressed="false"><kbd>G</kbd> Grid</button>
        <button type="button" data-do="out" aria-label="Zoom out">−</button>
        <button type="button" data-do="in" aria-label="Zoom in">+</button>
      </span>
      <button type="button" data-do="history"><kbd>H</kbd> History</button>
      <button type="button" data-do="finish" data-part="finish">Finish</button>
    </div>
  </section>
  <section class="waiting" data-part="waiting" hidden>
    <h1>One moment</h1>
    <p>Others are answering. The next question comes by itself.</p>
    <button type="button" data-do="undo">Undo my last answer</button>
  </section>
  <section class="done" data-part="done" hidden>
    <h1 data-part="verdict" tabindex="-1"></h1>
    <div class="best"><div class="media"></div></div>
    <div data-part="lines"></div>
    <div class="tools centred" role="group" aria-label="What next">
      <button type="button" data-do="before" aria-pressed="false" hidden>Show before</button>
      <button type="button" data-do="undo">Undo last answer</button>
      <button type="button" data-do="history">History</button>
      <button type="button" data-do="more">Keep going</button>
      <a class="button strong" data-part="following" hidden>Next one</a>
    </div>
  </section>
  <p class="facts" data-part="facts"></p>
  <dialog class="history" aria-label="History" data-part="history">
    <div class="row"><h2>History</h2><button type="button" data-do="close">Close</button></div>
    <ol data-part="list"></ol>
    <div class="row"><button type="button" data-do="newer">Newer</button>
      <span data-part="range"></span><button type="button" data-do="older">Older</button></div>
  </dialog>`;

export function mount(root, server, options = {}) {
  const rater = options.rater ?? "";
  const keys = options.keys ?? document; // where keys are listened for
  root.innerHTML = MARKUP;
  root.classList.add("duel");
  const part = Object.fromEntries(
    [...root.querySelectorAll("[data-part]")].map((e) => [e.dataset.part, e]));
  const media = Object.fromEntries(
    SIDES.map((s) => [s, root.querySelector(`[data-side=${s}] .media`)]));
  const bestMedia = root.querySelector(".best .media");
  const button = (name) => root.querySelectorAll(`[data-do=${name}]`);
  const zoom = { scale: 1, x: 0, y: 0 };
  let question = null, outcome = null, busy = false, beyond = false, start = 0, waiter = 0;

  const ending = options.ending?.({ root, part, button, call, alone, show, fill, say });
  part.question.textContent = options.question ?? "Which one is better?";
  part.finish.hidden = options.solo === false;
  const ratio = Number(root.dataset.ratio) || 0; // known before the pictures come
  if (ratio) root.style.setProperty("--ratio", ratio);
  state("loading");

  // -- talking to the server -------------------------------------------------------------------

  async function call(action, body = {}) {
    for (let attempt = 0; ; attempt++) {
      try {
        const reply = await server.send(action, { rater, beyond, ...body });
        notice("");
        return reply;
      } catch (error) {
        if (!PASSING.includes(error.status)) throw error;
        if (error.status !== 429)
          notice("The server does not answer. Trying again; your answers are safe.");
        // Sooner at first, for a server that is just being started again.
        await new Promise((done) => setTimeout(done, Math.min(3000, 300 * 1.6 ** attempt)));
      }
    }
  }

  // Do one thing at a time: a second click or key while the first is under way is dropped.
  async function alone(work) {
    if (busy) return;
    busy = true;
    root.setAttribute("aria-busy", "true");
    try {
      await work();
    } catch (error) {
      notice(error.status === 401
        ? "This link is no longer valid. Ask for a new one."
        : error.message || "Something went wrong. Reload the page.");
      if (question) state("question");
    } finally {
      busy = false;
      root.removeAttribute("aria-busy");
    }
  }

  const next = () => alone(async () => show(await call("ask")));

  const answer = (what) => alone(async () => {
    if (root.dataset.state !== "question" || (unseen(question) && what !== "skip")) return;
    root.querySelector(`[data-side=${what}]`)?.classList.add("chosen");
    root.dataset.state = "sent";
    const reply = await call("tell", { id: question.id, run: question.run, answer: what });
    if (reply.counted === false) notice("That question had been answered already. Here is another.");
    await show(reply);
  });

  const undo = () => alone(async () => {
    try {
      await show(await call("undo"));
      say("Taken back. The question is asked again.");
    } catch (error) {
      if (error.status !== 409) throw error;
      say("There is no answer to take back.");
      notice("There is no answer to take back.", 2500);
    }
  });

  const finish = () => alone(async () => done(await call("finish"), "stopped"));

  const more = () => {
    beyond = true;
    return next();
  };

  // -- showing ---------------------------------------------------------------------------------

  async function show(reply) {
    clearTimeout(waiter);
    facts(reply.progress);
    if (reply.state === "wait") {
      state("waiting");
      waiter = setTimeout(next, 1000 * Math.min(10, Math.max(0.3, reply.retry_after ?? 1)));
    } else if (reply.state === "finished") {
      await done(await call("finish"), reply.reason);
    } else {
      question = reply;
      await Promise.all(SIDES.map((side) => fill(media[side], reply[side], nth(side))));
      root.querySelectorAll(".chosen").forEach((e) => e.classList.remove("chosen"));
      fit(reply.left, reply.right);
      look();
      part.view.hidden = !["turned", "image"].includes(reply.left.kind);
      button("grid")[0].hidden = reply.left.kind !== "turned";
      const failed = unseen(reply);
      root.querySelectorAll("[data-answer]").forEach((b) => {
        b.disabled = failed && b.dataset.answer !== "skip";
      });
      if (failed) notice("This pair cannot be shown. Skip it: the next one follows.");
      state("fresh");
      root.dataset.question = reply.id;
      say(`Question ${reply.progress.answered + 1}. ${part.question.textContent} ${words(reply.progress)}`);
      reply.preload.forEach((path) => server.preload?.(path));
      setTimeout(() => root.dataset.state === "fresh" && state("question"), PAUSE);
    }
  }

  async function done(result, reason) {
    outcome = result;
    if (ending) {
      const first = root.dataset.state !== "done";
      facts(result.progress);
      state("done");
      return ending.show(result, first);
    }
    const ended = { budget: "That was the last question", stopped: "The best so far" };
    part.verdict.textContent = result.more.title
      ?? (options.solo === false ? `Thank you, ${rater}` : ended[reason] ?? "Done");
    part.lines.replaceChildren(...(result.more.lines ?? []).map((line) => element("p", line)));
    await fill(bestMedia, result.best, "The best so far");
    const turned = result.best.kind === "turned";
    button("before").forEach((b) => (b.hidden = !turned));
    button("more").forEach((b) => (b.hidden = !["accuracy", "stopped"].includes(reason)));
    part.following.hidden = !result.following;
    if (result.following) part.following.href = result.following;
    before(false);
    facts(result.progress);
    const first = root.dataset.state !== "done";
    state("done");
    if (first) part.verdict.focus();
    say([part.verdict.textContent, ...(result.more.lines ?? [])].join(". "));
    if (result.more.pending) {
      clearTimeout(waiter);
      waiter = setTimeout(() => root.dataset.state === "done"
        && alone(async () => done(await call("finish"), reason)), 400);
    }
  }

  function before(on) {
    if (ending) return ending.before(on);
    button("before").forEach((b) => b.setAttribute("aria-pressed", on));
    const pane = outcome?.best;
    if (pane?.kind !== "turned") return;
    turn(bestMedia, on ? 0 : pane.angle, on ? 1 : enlarge(pane, pane.angle));
  }

  // Both are shown whole and at one scale; what upright corners would leave of either is bright.
  // So nothing but the angle tells them apart.
  function fit(left, right) {
    if (left.kind !== "turned") return;
    const pair = [left, right];
    const scale = Math.min(...pair.map((pane) => 1 / enlarge(pane, pane.angle)));
    const kept = pair.map((pane) => rectangle(pane, pane.angle));
    const [width, height] = [0, 1].map((i) => scale * Math.min(...kept.map((sides) => sides[i])));
    SIDES.forEach((side, i) => {
      turn(media[side], pair[i].angle, scale);
      const cut = media[side].querySelector(".cut");
      cut.style.width = `${(100 * width) / left.width}%`;
      cut.style.height = `${(100 * height) / left.height}%`;
    });
  }

  function state(name) {
    root.dataset.state = name;
    const asking = ["loading", "fresh", "question", "sent"].includes(name);
    part.ask.hidden = !asking;
    part.waiting.hidden = name !== "waiting";
    part.done.hidden = name !== "done";
  }

  function facts(progress) {
    const fresh = progress.answered + progress.skips === 0;
    part.facts.textContent = fresh ? HINT : words(progress);
    part.facts.dataset.answered = progress.answered;
    const bar = root.querySelector(".bar");
    const share = progress.share ?? (progress.finished ? 1 : null);
    if (share === null) bar.removeAttribute("aria-valuenow");
    else bar.setAttribute("aria-valuenow", Math.round(100 * share));
    bar.firstElementChild.style.transform = `scaleX(${share ?? 0})`;
  }

  function say(text) {
    part.status.textContent = text;
  }

  function notice(text, milliseconds) {
    part.notice.hidden = !text;
    if (part.notice.textContent !== text) part.notice.textContent = text;
    if (milliseconds) setTimeout(() => part.notice.textContent === text && notice(""), milliseconds);
  }

  // -- panes -----------------------------------------------------------------------------------

  async function fill(place, pane, label) {
    const url = pane.url && server.url(pane.url);
    place.dataset.kind = pane.kind;
    const image = place.querySelector("img");
    if (pane.kind === "turned" && image?.dataset.url === url) return;
    if (pane.kind === "turned" || pane.kind === "image") {
      const fresh = new Image();
      fresh.dataset.url = fresh.src = url;
      fresh.alt = pane.alt || label;
      fresh.draggable = false;
      await fresh.decode().catch(() => {}); // a picture that cannot be shown shows its words
      const stage = element("div", "", "stage");
      stage.append(fresh);
      if (pane.kind === "turned") stage.append(element("div", "", "cut"));
      const frame = element("div", "", "frame");
      const [width, height] = [pane.width ?? fresh.naturalWidth, pane.height ?? fresh.naturalHeight];
      frame.style.setProperty("--ratio", width && height ? width / height : 1);
      frame.append(stage);
      place.replaceChildren(frame);
    } else if (pane.kind === "html") {
      const frame = element("iframe");
      frame.setAttribute("sandbox", "");
      frame.title = pane.alt || label;
      frame.src = url;
      place.replaceChildren(frame);
    } else if (pane.kind === "text" || pane.kind === "failed") {
      place.replaceChildren(element("pre", pane.text));
    } else {
      const player = element(pane.kind);
      player.controls = true;
      player.src = url;
      player.setAttribute("aria-label", pane.alt || label);
      place.replaceChildren(player);
    }
  }

  function look() {
    const most = 50 * (1 - 1 / zoom.scale);
    zoom.x = Math.max(-most, Math.min(most, zoom.x));
    zoom.y = Math.max(-most, Math.min(most, zoom.y));
    root.classList.toggle("zoomed", zoom.scale > 1);
    root.querySelectorAll(".panes .stage").forEach((stage) => {
      stage.style.transform = `scale(${zoom.scale}) translate(${zoom.x}%, ${zoom.y}%)`;
    });
    button("out").forEach((b) => (b.disabled = zoom.scale <= 1));
    button("in").forEach((b) => (b.disabled = zoom.scale >= 8));
  }

  function magnify(factor) {
    zoom.scale = Math.max(1, Math.min(8, zoom.scale * factor));
    look();
  }

  // -- history ---------------------------------------------------------------------------------

  async function history(at = 0) {
    const page = await call("history", { start: at });
    start = page.start;
    const items = await Promise.all(page.duels.map(async (duel) => {
      const item = element("li");
      const chosen = { left: "the left one", right: "the right one", tie: "can’t tell" };
      item.append(element("p", `${duel.id + 1}: ${chosen[duel.answer] ?? "skipped"}`));
      const pair = element("div", "", "pair");
      for (const side of SIDES) {
        const place = element("div", "", duel.answer === side ? "media chosen" : "media");
        await fill(place, duel[side], `${nth(side)}${duel.answer === side ? ", chosen" : ""}`);
        if (duel[side].kind === "turned")
          turn(place, duel[side].angle, Math.max(...SIDES.map((s) => enlarge(duel[s], duel[s].angle))));
        pair.append(place);
      }
      item.append(pair);
      return item;
    }));
    part.list.replaceChildren(...items);
    const last = start + page.duels.length;
    part.range.textContent = page.total ? `${start + 1} to ${last} of ${page.total}` : "No answers yet";
    button("newer").forEach((b) => (b.disabled = start === 0));
    button("older").forEach((b) => (b.disabled = last >= page.total));
    if (!part.history.open) {
      part.history.showModal();
      if (options.page) window.history.pushState({ dialog: true }, "");
    }
  }

  part.history.addEventListener("close", () => {
    if (options.page && window.history.state?.dialog) window.history.back();
  });
  if (options.page) {
    window.addEventListener("popstate", () => part.history.open && part.history.close());
    // A page that the back button brings from memory may show a question answered since.
    window.addEventListener("pageshow", (event) => event.persisted && next());
  }

  // -- hands -----------------------------------------------------------------------------------

  const actions = {
    undo, finish, more,
    history: () => alone(() => history(0)),
    newer: () => alone(() => history(Math.max(0, start - 12))),
    older: () => alone(() => history(start + 12)),
    close: () => part.history.close(),
    before: () => before(button("before")[0].getAttribute("aria-pressed") !== "true"),
    grid: () => {
      const on = root.classList.toggle("grid");
      button("grid").forEach((b) => b.setAttribute("aria-pressed", on));
    },
    in: () => magnify(1.5),
    out: () => magnify(1 / 1.5),
  };

  let dragged = false;
  root.addEventListener("click", (event) => {
    if (event.detail > 1 && !event.target.closest("[data-do=in], [data-do=out]")) return;
    const target = event.target.closest("[data-answer], [data-do], .panes .frame");
    if (!target || target.disabled) return;
    if (target.dataset.do) actions[target.dataset.do]();
    else if (target.dataset.answer) answer(target.dataset.answer);
    else if (!dragged) answer(target.closest(".pane").dataset.side);
  });

  keys.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || part.history.open) return;
    if (ending?.key(event)) return event.preventDefault();
    if (event.target.closest?.("input, textarea, select, audio, video")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = { z: "undo", g: "grid", h: "history", "+": "in", "=": "in", "-": "out" }[key];
    const said = root.dataset.state === "done" ? undefined : KEYS[key];
    if (!action && !said) return;
    event.preventDefault();
    if (event.repeat && action !== "in" && action !== "out") return;
    if (said) answer(said);
    else actions[action]();
  });

  // Drag a zoomed picture, pinch to zoom; both sides move together.
  const fingers = new Map();
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  root.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".panes .frame")) return;
    if (fingers.size === 0) dragged = false;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  root.addEventListener("pointermove", (event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
    if (fingers.size === 2) {
      const apart = spread();
      Object.assign(finger, { x: event.clientX, y: event.clientY });
      dragged = true;
      if (apart > 0) magnify(spread() / apart);
    } else if (zoom.scale > 1 && (dragged || Math.hypot(dx, dy) > 6)) {
      dragged = true;
      const box = event.target.closest(".frame")?.getBoundingClientRect();
      if (!box) return;
      Object.assign(finger, { x: event.clientX, y: event.clientY });
      zoom.x += (100 * dx) / box.width / zoom.scale;
      zoom.y += (100 * dy) / box.height / zoom.scale;
      look();
    }
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"])
    root.addEventListener(end, (event) => fingers.delete(event.pointerId));
  root.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !event.target.closest(".panes .frame")) return;
    event.preventDefault();
    magnify(Math.exp(-event.deltaY / 200));
  }, { passive: false });

  next();
  return () => clearTimeout(waiter);
}

export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

const unseen = (question) => SIDES.some((side) => question[side].kind === "failed");
const nth = (side) => (side === "left" ? "First choice" : "Second choice");

// How much a turned picture must be enlarged to leave no corner of its frame empty; that is also
// by how much it exceeds the frame.
export function enlarge({ width, height }, angle) {
  const [c, s] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))];
  return Math.max(c + (s * height) / width, c + (s * width) / height);
}

// Sides of the largest upright rectangle in a turned picture, as in geoduel.pictures.
export function rectangle({ width, height }, angle) {
  const [c, s] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))];
  const short = Math.min(width, height);
  if (short <= 2 * s * c * Math.max(width, height)) {
    const [along, across] = [short / (2 * s), short / (2 * c)];
    return width >= height ? [along, across] : [across, along];
  }
  return [(width * c - height * s) / (c * c - s * s), (height * c - width * s) / (c * c - s * s)];
}

// Angles are counter-clockwise, those of style sheets clockwise.
export function turn(place, angle, scale) {
  const image = place.querySelector("img");
  if (image) image.style.transform = `rotate(${-angle}rad) scale(${scale})`;
}

function words(progress) {
  const { answered, remaining, uncertainty, unit, raters } = progress;
  const whose = raters > 1 ? ` of ${raters} people` : "";
  const text = [`${answered} ${answered === 1 ? "answer" : "answers"}${whose}`];
  if (remaining) text.push(`about ${remaining} to go`);
  if (uncertainty !== null && answered > 0) {
    const size = unit === "degrees" ? (uncertainty * 180) / Math.PI : uncertainty;
    text.push(`known to ±${size.toPrecision(2)}${unit === "degrees" ? "°" : ""}`);
  }
  return text.join(" · ");
}

// The duel: two choices side by side. One script for the page and for the notebook.
//
// `server.send(action, body)` asks for questions and tells answers; it resolves to the reply or
// rejects with an error that has a `status` (0: no connection). `server.url(path)` is where a
// pane's picture is found. After `server.patience` ms without a reply the page says `server.slow`.

const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "tie", ArrowDown: "skip" };
const CANNOT = { ArrowLeft: "left infeasible", ArrowRight: "right infeasible",
  ArrowDown: "both infeasible" }; // with Shift
const GRADED = { 1: "left clearly", 2: "left slightly", 3: "right slightly",
  4: "right clearly" }; // where strengths are asked for
const SIDES = ["left", "right"];
const PASSING = [0, 429, 502, 503, 504]; // no connection, too many requests, a server that is away
const PATIENCE = 20000; // ms for which a request is sent again and again; then the page says what is wrong
const LATER = 60000; // ms until it is sent again, where nobody asks for it
const PAUSE = 200; // ms in which a question takes no answer: nobody can have looked at it

const HEARD = 2; // seconds of each sound or film before it may be judged, or all of a shorter one
const ARROW = { left: "←", right: "→" };
const LETTERS = "ABCDEF"; // of sounds
const LETTERS_OFF = "geoduel: no keys of one letter"; // name of what the browser remembers
const NTH = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"];
const touch = matchMedia("(hover: none)").matches;
const PICTURES = ["image", "turned", "video"]; // what is chosen by a click on it
const PLAYED = ["audio", "video"];
const hint = (question) => {
  const { ranking, strengths } = question, panes = panesOf(question), count = panes.length;
  const press = touch ? "Tap" : "Click";
  const at = panes.every((pane) => PICTURES.includes(pane?.kind ?? "image")) ? press : `${press} the button below`;
  if (strengths) return touch ? "Tap how much better it is."
    : "Click how much better it is, or press 1 to 4.";
  if (count === 2) return touch ? `${at} the one you prefer.` : `${at} the one you prefer, or press ← or →.`;
  const which = "the best one" + (ranking ? `, then the ${ranking === "ends" ? "worst" : "next best"}` : "");
  return touch ? `${at} ${which}.` : `${at} ${which}, or press 1 to ${count}.`;
};
const FILES = { image: "Picture", turned: "Picture", audio: "Sound", video: "Film", html: "Page" };

const MARKUP = `
  <div class="bar" role="progressbar" aria-label="Progress of the study" aria-valuemin="0"
    aria-valuemax="100"><span></span></div>
  <p class="hidden" role="status" data-part="status"></p>
  <div class="notice" role="alert" data-part="notice" hidden><span data-part="said"></span>
    <button type="button" data-do="retry" hidden>Try again</button></div>
  <section class="ask" data-part="ask">
    <h1 data-part="question" tabindex="-1"></h1>
    <div class="panes" data-part="panes"></div>
    <div class="player" data-part="player" role="group" aria-label="Player" hidden>
      <button type="button" data-do="toggle"><kbd>X</kbd> <span data-part="toggle"></span></button>
      <input type="range" min="0" max="1000" value="0" data-part="seek" aria-label="Position">
    </div>
    <div class="tools" role="group" aria-label="Other answers and tools">
      <button type="button" data-do="undo"><kbd>Z</kbd> Undo</button>
      <button type="button" data-do="ranked" data-part="ranked" hidden><kbd>Enter</kbd> <span>Done
        <small>the others are worse</small></span></button>
      <button type="button" data-answer="tie"><kbd>↑</kbd> <span>Can’t tell
        <small>counts as equal</small></span></button>
      <button type="button" data-answer="skip"><kbd>↓</kbd> <span>Skip
        <small>counts as nothing</small></span></button>
      <button type="button" data-answer="both infeasible" data-cannot hidden><kbd>⇧↓</kbd>
        Both impossible</button>
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
    <h1 tabindex="-1">One moment</h1>
    <p>Others are answering. The next question comes by itself.</p>
    <button type="button" data-do="undo">Undo my last answer</button>
  </section>
  <section class="done" data-part="done" hidden>
    <h1 data-part="verdict" tabindex="-1"></h1>
    <div class="outcome" data-part="outcome">
      <figure class="best" data-part="best"><div class="media"></div>
        <figcaption data-part="caption"></figcaption></figure>
      <div class="told">
        <div data-part="lines"></div>
        <div data-part="numbers"></div>
        <div class="tools" role="group" aria-label="Keep the result" data-part="keep">
          <button type="button" data-do="copy">Copy</button>
          <a class="button" data-file="picture" download></a>
          <a class="button" data-file="result.json" download>JSON</a>
          <a class="button" data-file="result.csv" download>CSV</a>
        </div>
      </div>
      <figure class="best" data-part="own"><div class="media"></div>
        <figcaption></figcaption><div></div></figure>
    </div>
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
    <label class="check"><input type="checkbox" data-part="letters"> Keys of one letter or figure</label>
  </dialog>`;

const MUCH = { slightly: "A little better", clearly: "Clearly better" };

// The panes of a question: two sides, or places 1, 2, ...
const PANES = (sides) => sides.map((side, i) => `
  <section class="pane" data-side="${side}" aria-label="${NTH[i]} choice">
    <div class="media"></div>
    <button type="button" class="choose" data-answer="${side}"><kbd>${
      ARROW[side] ?? side}</kbd> <span data-rank>This one</span><span
      class="hidden"> (the ${NTH[i].toLowerCase()})</span></button>
    <div class="strengths" data-strengths hidden>${Object.entries(GRADED).filter(([, said]) =>
      said.startsWith(side)).map(([key, said]) => `
      <button type="button" class="grade" data-answer="${said}"><kbd>${key}</kbd>
        <span>${MUCH[said.split(" ")[1]]}</span><span
        class="hidden"> (the ${NTH[i].toLowerCase()})</span></button>`).join("")}</div>
    <button type="button" class="cannot" data-answer="${side} infeasible" data-cannot hidden><kbd>⇧${
      ARROW[side]}</kbd> <span>Impossible</span><span
      class="hidden"> (the ${NTH[i].toLowerCase()})</span></button>
  </section>`).join("");

export function mount(root, server, options = {}) {
  const rater = options.rater ?? "";
  const keys = options.keys ?? document; // where keys are listened for
  root.innerHTML = MARKUP;
  root.classList.add("duel");
  const part = Object.fromEntries(
    [...root.querySelectorAll("[data-part]")].map((e) => [e.dataset.part, e]));
  let sides = [], media = {}; // the places of the panes, and what they show
  let ranks = []; // places, the best first, where a ranking is asked for
  lay(SIDES);
  const bestMedia = part.best.firstElementChild;
  const button = (name) => root.querySelectorAll(`[data-do=${name}]`);
  const zoom = { scale: 1, x: 0, y: 0 };
  let run, last = null; // of the latest reply: its run, and the question that undo would ask again
  let question = null, outcome = null, busy = false, timed = false, beyond = false, start = 0, waiter = 0;
  let players = null; // where there are sounds or films
  let retry = null; // does again what has failed
  let unseen = false; // whether one of the choices cannot be shown

  const ending = options.ending?.({ root, part, button, call, alone, again, notice, fill: (...all) => fill(...all, server.url), say });
  part.question.textContent = options.question ?? "Which one is better?";
  part.question.lang = options.lang ?? "en";
  const ratio = Number(root.dataset.ratio) || 0; // known before the pictures come
  if (ratio) root.style.setProperty("--ratio", ratio);
  state("loading");

  // -- talking to the server -------------------------------------------------------------------

  // What is sent again says what it is about, so that it is done once though a reply was lost.
  async function call(action, more = {}) {
    const body = { rater, beyond, run, ...more };
    // Sooner at first, for a server that is just being started again.
    for (let began = performance.now(), pause = 300; ; pause = Math.min(3000, 1.6 * pause)) {
      const slow = server.patience && setTimeout(() => notice(server.slow), server.patience);
      try {
        const reply = await server.send(action, body);
        if (!timed) notice(""); // one with an end of its own stays until then
        return reply;
      } catch (error) {
        if (!PASSING.includes(error.status)) throw error;
        if (performance.now() - began < PATIENCE) {
          if (error.status !== 429)
            notice("The server does not answer. Trying again; your answers are safe.");
          await new Promise((done) => setTimeout(done, pause));
        } else if (await asked(lasting(error, action))) [began, pause] = [performance.now(), 300];
      } finally {
        clearTimeout(slow);
      }
    }
  }

  // What is said of an error that lasts.
  function lasting({ status, message }, action) {
    const why = status && message ? `The server says: ${message}.` : "The server does not answer.";
    return `${why} ${action === "tell" ? "Your last answer is not stored yet: keep this page open."
      : "Your answers are safe."}`;
  }

  // Offer to try again; whether that was asked for before it is time in any case.
  function asked(text) {
    root.removeAttribute("aria-busy"); // within which screen readers may say nothing
    return new Promise((done) => {
      const timer = setTimeout(done, LATER, false);
      notice(text, 0, () => {
        clearTimeout(timer);
        done(true);
      });
    }).finally(() => root.setAttribute("aria-busy", "true"));
  }

  // Do one thing at a time: a second click or key while the first is under way is dropped.
  async function alone(work) {
    if (busy) return;
    const within = root.contains(focused());
    busy = true;
    root.setAttribute("aria-busy", "true");
    try {
      await work();
    } catch (error) {
      notice(error.status === 401
        ? "This link is no longer valid. Ask for a new one."
        : error.message || "Something went wrong. Reload the page.",
        0, error.status >= 500 ? () => alone(work) : null);
      if (root.dataset.state === "sent") state("question");
    } finally {
      busy = false;
      root.removeAttribute("aria-busy");
      if (within && isLost(focused())) heading().focus();
    }
  }

  // Where the keys go on: what had them may be gone, hidden or disabled.
  const focused = () => root.getRootNode().activeElement;
  const isLost = (at) => !at || at === document.body
    || (root.contains(at) && (at.disabled || !at.getClientRects().length));
  const heading = () => root.querySelector(":scope > section:not([hidden]) > h1");

  const next = () => alone(async () => show(await call("ask")));

  function lay(names) {
    if (sides.join() === names.join()) return;
    sides = names;
    part.panes.innerHTML = PANES(sides);
    part.panes.dataset.count = sides.length;
    media = Object.fromEntries(
      sides.map((s) => [s, root.querySelector(`[data-side="${s}"] .media`)]));
    for (const place of Object.values(media)) place.lang = options.lang ?? "en";
  }

  // Marks a place as the next best, or takes the mark away; all but one marked, it is an answer.
  // Where the best and the worst are asked for, the second mark is the worst.
  function rank(place) {
    ranks = ranks.includes(place) ? ranks.filter((p) => p !== place) : [...ranks, place];
    if (ends() && ranks.length === 2) {
      const [first, last] = ranks, between = sides.filter((side) => !ranks.includes(side));
      tell([first, between.join(""), last].join(">"));
    } else if (ranks.length === sides.length - 1) tell(ranks.join(">"));
    ranked();
  }

  const ends = () => question?.ranking === "ends";
  const mark = (at) => (ends() && at ? "Worst" : best(at));

  function ranked() {
    sides.forEach((side) => {
      const at = ranks.indexOf(side);
      const place = root.querySelector(`[data-side="${side}"]`);
      place.classList.toggle("chosen", at >= 0);
      place.querySelector("[data-rank]").textContent = at >= 0 ? mark(at)
        : !question?.ranking ? "This one" : !ends() ? "Next best" : ranks.length ? "Worst" : "Best";
    });
    part.ranked.hidden = !question?.ranking;
    part.ranked.disabled = !ranks.length;
    if (ranks.length) say(ranks.map((place, i) => `${mark(i)}: choice ${place}`).join(", "));
  }

  function answer(what) {
    if (["fresh", "sent"].includes(root.dataset.state)) quick();
    else if (players && what !== "skip" && !players.heard())
      notice(`${players.films ? "Watch" : "Listen to"} ${{ 1: "it", 2: "both" }[players.count] ?? "all"} first.`, 3000);
    else if (question?.ranking && sides.includes(what)) rank(what);
    else tell(what);
  }

  // Nobody can have looked at a question that is not there yet.
  const quick = () => notice("That was quick: only the first click counts.", 2500);

  const tell = (what) => alone(async () => {
    if (root.dataset.state !== "question" || (unseen && what !== "skip")) return;
    players?.pause();
    root.querySelector(`[data-side="${ungraded(what)}"]`)?.classList.add("chosen");
    root.dataset.state = "sent";
    const reply = await call("tell", { id: question.id, answer: what });
    if (reply.counted === false) notice("That question had been answered already. Here is another.");
    await show(reply);
  });

  const undo = () => ranks.length && root.dataset.state === "question" ? rank(ranks.at(-1))
    : alone(async () => {
    const id = last;
    const reply = id === null ? null : await call("undo", { id });
    if (reply) await show(reply);
    const taken = reply?.id === id;
    const said = taken ? "Taken back. The question is asked again."
      : reply ? "Another answer has come since: nothing was taken back."
      : "There is no answer to take back.";
    say(said);
    if (!taken) notice(said, 2500);
  });

  const finish = () => alone(async () => done(await call("finish"), "stopped"));

  const more = () => {
    beyond = true;
    return next();
  };

  // -- showing ---------------------------------------------------------------------------------

  async function show(reply) {
    clearTimeout(waiter);
    ({ run, last } = reply);
    facts(reply.progress);
    if (reply.state === "wait") {
      state("waiting");
      waiter = setTimeout(next, 1000 * Math.min(10, Math.max(0.3, reply.retry_after ?? 1)));
    } else if (reply.state === "finished") {
      await done(await call("finish"), reply.reason);
    } else {
      question = reply;
      ranks = [];
      const panes = panesOf(reply);
      lay(reply.panes ? panes.map((_, i) => String(i + 1)) : SIDES);
      const shown = await Promise.all(
        sides.map((side, i) => fill(media[side], panes[i], nth(i), server.url)));
      unseen = shown.includes(false);
      players = together(panes);
      root.classList.toggle("several", !!reply.panes);
      root.querySelectorAll(".chosen").forEach((e) => e.classList.remove("chosen"));
      ranked();
      facts(reply.progress); // the hint is for so many panes
      fit(panes);
      look();
      part.view.hidden = !["turned", "image"].includes(panes[0].kind);
      button("grid")[0].hidden = panes[0].kind !== "turned";
      root.querySelectorAll("[data-answer]").forEach((b) => (b.disabled = false));
      root.querySelectorAll("[data-cannot]").forEach((b) => (b.hidden = !reply.infeasible));
      root.querySelectorAll("[data-strengths]").forEach((b) => (b.hidden = !reply.strengths));
      root.querySelectorAll(".pane > .choose").forEach((b) => (b.hidden = !!reply.strengths));
      if (unseen) failed();
      state("fresh");
      root.classList.toggle("long", scrolls(part.panes));
      root.dataset.question = reply.id;
      say(`Question ${reply.progress.answered + 1}. ${part.question.textContent} ${words(reply.progress)}`);
      reply.preload.forEach((path) => server.preload?.(path));
      setTimeout(() => root.dataset.state === "fresh" && state("question"), PAUSE);
    }
  }

  async function done(result, reason) {
    outcome = result;
    players?.pause();
    if (ending) {
      const first = root.dataset.state !== "done";
      facts(result.progress);
      state("done");
      return ending.show(result, first);
    }
    const crowd = options.solo === false;
    part.verdict.textContent = result.more.title
      ?? (crowd ? `Thank you, ${rater}` : reason === "stopped" ? "The best so far" : "The result");
    part.lines.replaceChildren(...(result.more.lines ?? []).map((line) => element("p", line)));
    part.best.hidden = !result.best && !(result.own && result.numbers);
    if (result.best) await fill(bestMedia, result.best, "The best point", server.url);
    part.caption.textContent = crowd ? "Best for everybody so far" : "";
    part.own.hidden = !result.own;
    if (result.own) {
      if (result.own.pane) await fill(part.own.firstElementChild, result.own.pane, "Your best point", server.url);
      part.own.children[1].textContent = "What you liked best";
      part.own.children[2].replaceChildren(...table(result.own.numbers));
    }
    const plain = result.numbers && !result.more.lines; // a study with no end page of its own
    part.outcome.classList.toggle("two", !!result.own);
    if (result.own) part.best.append(part.numbers);
    else part.keep.before(part.numbers);
    part.outcome.classList.toggle("stacked", !plain && !result.own);
    part.numbers.replaceChildren(...(plain ? table(result.numbers, result.progress.known) : []));
    part.keep.hidden = !plain;
    part.keep.querySelectorAll("a").forEach((a) => {
      const file = a.dataset.file;
      if (file === "picture") a.textContent = FILES[result.best?.kind] ?? "";
      a.hidden = !result.files || !a.textContent;
      a.href = server.url(file);
    });
    const turned = result.best?.kind === "turned";
    button("before").forEach((b) => (b.hidden = !turned));
    button("more").forEach((b) => (b.hidden = !["accuracy", "answers", "stopped"].includes(reason)));
    part.following.hidden = !result.following;
    if (result.following) part.following.href = result.following;
    before(false);
    facts({ ...result.progress, known: plain ? "" : result.progress.known });
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

  // The photo itself is another one: all begins anew.
  async function again() {
    beyond = false;
    await show(await call("ask"));
  }

  function before(on) {
    if (ending) return ending.before(on);
    button("before").forEach((b) => b.setAttribute("aria-pressed", on));
    const pane = outcome?.best;
    if (pane?.kind !== "turned") return;
    turn(bestMedia, on ? 0 : pane.angle, on ? 1 : enlarge(pane, pane.angle));
  }

  // All are shown whole and at one scale; what upright corners would leave of any is bright.
  // So nothing but the angle tells them apart.
  function fit(panes) {
    const turned = panes.map((pane, i) => [pane, media[sides[i]]]).filter(([p]) => p.kind === "turned");
    const scale = Math.min(...turned.map(([pane]) => 1 / enlarge(pane, pane.angle)));
    const kept = turned.map(([pane]) => rectangle(pane, pane.angle));
    const [width, height] = [0, 1].map((i) => scale * Math.min(...kept.map((both) => both[i])));
    for (const [pane, place] of turned) {
      turn(place, pane.angle, scale);
      cut(place, width / pane.width, height / pane.height);
    }
  }

  function state(name) {
    root.dataset.state = name;
    const asking = ["loading", "fresh", "question", "sent"].includes(name);
    part.ask.hidden = !asking;
    part.waiting.hidden = name !== "waiting";
    part.done.hidden = name !== "done";
  }

  function facts(progress) {
    const fresh = progress.own === 0;
    part.facts.textContent = fresh ? [hint(question ?? {}), toGo(progress)].filter(Boolean).join(" · ") : words(progress);
    part.finish.disabled = progress.own === 0 && !ending; // which starts from nothing, too
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

  // Say what is wrong; `again` does at a button what has failed.
  function notice(text, milliseconds = 0, again = null) {
    if (milliseconds && retry) return; // what is wrong matters more
    timed = Boolean(text && milliseconds);
    retry = again;
    button("retry")[0].hidden = !again;
    part.notice.hidden = !text;
    if (part.said.textContent !== text) part.said.textContent = text;
    if (milliseconds) setTimeout(() => part.said.textContent === text && notice(""), milliseconds);
  }

  // -- panes -----------------------------------------------------------------------------------

  // -- sound and film --------------------------------------------------------------------------

  // All keep the same position: of sounds one is heard, films run side by side.
  function together(panes) {
    const places = sides.filter((_, i) => PLAYED.includes(panes[i].kind));
    part.player.hidden = !places.length;
    root.classList.toggle("plays", !part.player.hidden);
    if (!places.length) return null;
    const films = places.every((side) => media[side].dataset.kind === "video");
    const all = places.map((side) => media[side].querySelector("audio, video"));
    const whole = places.map(() => false); // which of them were heard
    let active = 0;
    all.forEach((player, i) => {
      let at = 0, seconds = 0, again = true;
      player.addEventListener("timeupdate", () => {
        const step = player.currentTime - at;
        at = player.currentTime;
        if (step > 0 && step < 1) seconds += step;
        heard(i, seconds >= Math.min(HEARD, 0.9 * player.duration));
        if (active !== i) return;
        part.seek.value = (1000 * player.currentTime) / player.duration || 0;
        if (films) all.forEach((other) => {
          if (!other.paused && Math.abs(other.currentTime - at) > 0.15) other.currentTime = at;
        });
      });
      player.addEventListener("ended", () => {
        heard(i, true);
        if (active === i) play(i, 0);
      });
      const broken = () => {
        if (!player.isConnected) return; // of a question before
        if (again) {
          again = false; // a server that is busy is asked once more
          setTimeout(() => player.load(), 500);
          return;
        }
        unshown(media[places[i]], "", "This one cannot be played.");
        failed();
      };
      player.addEventListener("error", broken);
      if (player.error) setTimeout(broken); // before anybody listened
    });
    if (all.length > 1 && panes.every((pane) => pane.kind === "audio") && panes[0].matched !== false)
      match(all);
    function heard(i, enough) {
      whole[i] ||= enough;
      told();
    }
    function play(i, at) {
      active = i;
      all.forEach((player, j) => {
        if (at < player.duration) player.currentTime = at;
        player.muted = j !== i;
        if (films || j === i) player.play().catch(() => {});
        else player.pause();
      });
      told();
    }
    function pause() {
      all.forEach((player) => player.pause());
      told();
    }
    const running = () => all.some((player) => !player.paused);
    const position = () => all[active].currentTime;
    const following = () => (active + 1) % all.length;
    const switches = () => !films && all.length > 1 && running();
    function told() {
      const on = running(), name = (i) => letter(media[places[i]].closest("[data-side]"));
      part.toggle.textContent = switches() ? `Switch to ${name(following())}`
        : on ? "Pause" : !films || all.length === 1 ? `Play ${name(active)}` : all.length === 2 ? "Play both" : "Play all";
      places.forEach((side, i) => {
        const card = media[side].querySelector(".listen");
        if (!card) return;
        card.classList.toggle("playing", !all[i].paused);
        card.lastElementChild.textContent =
          !all[i].paused ? "playing" : whole[i] ? "heard" : "not heard yet";
      });
    }
    told();
    return {
      films, pause, count: all.length,
      heard: () => whole.every(Boolean),
      listen: (side) => play(places.indexOf(side), position()),
      toggle: () => (switches() ? play(following(), position()) : running() ? pause() : play(active, position())),
      seek: (share) => all.forEach((player) => {
        if (player.duration) player.currentTime = share * player.duration;
      }),
    };
  }

  // A louder one sounds better: the louder of two is made as quiet as the other.
  async function match(players) {
    try {
      const loud = await Promise.all(players.map(async (player) => {
        const data = await (await fetch(player.src)).arrayBuffer();
        const sound = await new OfflineAudioContext(1, 1, 44100).decodeAudioData(data);
        let sum = 0;
        for (let c = 0; c < sound.numberOfChannels; c++)
          for (const value of sound.getChannelData(c)) sum += value * value;
        return Math.sqrt(sum / (sound.length * sound.numberOfChannels));
      }));
      const quiet = Math.min(...loud);
      if (quiet > 0) players.forEach((player, i) => (player.volume = quiet / loud[i]));
    } catch {
      // what cannot be decoded here is played as it is
    }
  }

  function failed() {
    unseen = true;
    players?.pause();
    players = null;
    part.player.hidden = true;
    root.querySelectorAll("[data-answer]").forEach((b) => (b.disabled = b.dataset.answer !== "skip"));
    notice("This pair cannot be shown. Skip it, and the next one follows; or reload the page, and it is tried again.");
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
      const chosen = { left: "the left one", right: "the right one", tie: "can’t tell", skip: "skipped",
        "left infeasible": "the left one is impossible", "both infeasible": "both are impossible",
        "right infeasible": "the right one is impossible" };
      const strength = duel.answer.split(" ")[1];
      const much = MUCH[strength] ? `, ${strength}` : "";
      const said = chosen[duel.answer] ?? chosen[ungraded(duel.answer)] ?? duel.answer;
      item.append(element("p", `${duel.id + 1}: ${said}${much}`));
      const pair = element("div", "", "pair"), panes = panesOf(duel);
      for (const [i, pane] of panes.entries()) {
        const best = ungraded(duel.answer.split(">")[0]) === (duel.panes ? String(i + 1) : SIDES[i]);
        const place = element("div", "", best ? "media chosen" : "media");
        await fill(place, pane, `${nth(i)}${best ? ", chosen" : ""}`, server.url);
        if (pane.kind === "turned")
          turn(place, pane.angle, Math.max(...panes.map((p) => enlarge(p, p.angle))));
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
    ranked: () => ranks.length && tell(ranks.join(">")),
    retry: () => {
      const again = retry;
      notice("");
      again?.();
    },
    toggle: () => players?.toggle(),
    listen: (target) => players?.listen(target.closest("[data-side]").dataset.side),
    copy: (target) => copy(target, outcome.numbers),
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
    const target = event.target.closest("[data-answer], [data-do], .panes .frame");
    if (!target || target.disabled) return;
    if (event.detail > 1 && !["in", "out", "listen", "toggle"].includes(target.dataset.do)) {
      if (!target.dataset.do && !dragged) quick();
      return;
    }
    // Space is to play the next pair, not to press the button once more.
    if (players && event.detail > 0) target.blur();
    if (target.dataset.do) actions[target.dataset.do](target);
    else if (target.dataset.answer) answer(target.dataset.answer);
    else if (!dragged) answer(target.closest(".pane").dataset.side);
  });

  // Whether ↑ and ↓ scroll: a text that has the keys, or texts that the window does not hold.
  const scrolls = (target) => Boolean(target.closest?.("pre[tabindex]")
    || (part.panes.querySelector(".prose") && part.ask.offsetHeight > window.innerHeight));

  // A click into a page of HTML takes the keys along. They come back, unless scripts may wait for
  // them there, or Tab has led there, to scroll.
  let tabbed = -Infinity;
  const back = () => setTimeout(() => {
    const frame = focused();
    if (!root.contains(frame) || !frame.matches("iframe") || frame.sandbox.contains("allow-scripts")) return;
    if (performance.now() - tabbed > 500) heading()?.focus({ preventScroll: true });
  });
  window.addEventListener("blur", back);

  keys.addEventListener("keydown", (event) => {
    if (event.key === "Tab") tabbed = performance.now();
    if (event.ctrlKey || event.metaKey || event.altKey || part.history.open) return;
    if (!part.letters.checked && event.key.length === 1 && event.key !== " ") return;
    if (ending?.key(event)) return event.preventDefault();
    if (event.target.closest?.("input, textarea, select, audio, video")) return;
    if (["ArrowUp", "ArrowDown", " "].includes(event.key) && !event.shiftKey && scrolls(event.target)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    // Where figures take Shift, as in France, they are meant without it, too.
    const figure = /^Digit\d$/.test(event.code) && !event.shiftKey ? event.code.at(-1) : key;
    const free = !event.target.closest?.("button, a, summary"); // which Space presses
    const action = { z: "undo", g: "grid", h: "history", "+": "in", "=": "in", "-": "out",
      ...(question?.ranking && ranks.length && free && { Enter: "ranked" }),
      ...(players && { x: "toggle", ...(free && { " ": "toggle" }) }) }[key];
    const digit = question?.strengths ? GRADED[figure]
      : sides.length > 2 && sides.includes(figure) ? figure : undefined;
    const arrow = sides.length > 2 && SIDES.includes(KEYS[key]) ? undefined : KEYS[key];
    const cannot = event.shiftKey && question?.infeasible ? CANNOT[key] : undefined;
    const said = root.dataset.state === "done" ? undefined : cannot ?? digit ?? arrow;
    if (!action && !said) return;
    event.preventDefault();
    if (event.repeat && action !== "in" && action !== "out") return;
    if (said) answer(said);
    else actions[action]();
  });

  // Who dictates to the computer, or hits keys by chance, switches off those that need no other key.
  part.letters.checked = kept(LETTERS_OFF) !== "1";
  part.letters.addEventListener("change", () => kept(LETTERS_OFF, part.letters.checked ? "0" : "1"));

  part.seek.addEventListener("input", () => players?.seek(part.seek.value / 1000));

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
  return () => {
    clearTimeout(waiter);
    window.removeEventListener("blur", back);
    players?.pause();
  };
}

// What this browser remembers; nothing where it may not.
function kept(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// What `get` brings, or null where that is an error: a server that is busy is asked once more.
async function twice(get) {
  for (const pause of [0, 500]) {
    if (pause) await new Promise((done) => setTimeout(done, pause));
    try {
      return await get();
    } catch {
      // the next time
    }
  }
  return null;
}

async function picture(url) {
  const made = new Image();
  made.dataset.url = made.src = url;
  await made.decode();
  return made;
}

// A frame does not tell whether what it shows is a page or an error.
async function exists(url) {
  if (url.startsWith("data:") || (await fetch(url, { method: "HEAD" })).ok) return true;
  throw new Error("an error in place of a page");
}

// Say in the place of what cannot be shown that it cannot; false, as of `fill`.
function unshown(place, words, why = "This one cannot be shown.") {
  place.replaceChildren(element("pre", [why, words].filter(Boolean).join("\n"), "prose"));
  return false;
}

// Show what a pane holds; `url` is where its picture is found. False if it cannot be shown.
export async function fill(place, pane, label, address) {
  const url = pane.url && address(pane.url).toString();
  place.dataset.kind = pane.kind;
  const image = place.querySelector("img");
  if (pane.kind === "turned" && image?.dataset.url === url) return true;
  if (pane.kind === "turned" || pane.kind === "image") {
    const fresh = await twice(() => picture(url));
    if (!fresh) return unshown(place, pane.alt);
    fresh.alt = pane.alt || label;
    fresh.draggable = false;
    const stage = element("div", "", "stage");
    stage.append(fresh);
    if (pane.kind === "turned") stage.append(element("div", "", "cut"));
    const frame = element("div", "", "frame");
    const [width, height] = [pane.width ?? fresh.naturalWidth, pane.height ?? fresh.naturalHeight];
    frame.style.setProperty("--ratio", width && height ? width / height : 1);
    frame.append(stage);
    place.replaceChildren(frame);
  } else if (pane.kind === "html") {
    if (!(await twice(() => exists(url)))) return unshown(place, pane.alt);
    const frame = element("iframe");
    frame.setAttribute("sandbox", pane.scripts ? "allow-scripts" : "");
    frame.title = pane.alt || label;
    frame.src = url;
    place.replaceChildren(frame);
  } else if (pane.kind === "text" || pane.kind === "failed") {
    const prose = /\p{L}{3}/u.test(pane.text); // numbers are set in columns
    const text = element("pre", pane.text, prose ? "prose" : "");
    place.replaceChildren(text);
    if (text.scrollHeight > text.clientHeight) text.tabIndex = 0; // scrolled by keys, too
    return pane.kind === "text";
  } else {
    const player = element(pane.kind);
    player.src = url;
    player.preload = "auto";
    player.playsInline = true;
    player.setAttribute("aria-label", pane.alt || label);
    const choice = place.closest("[data-side]"); // of a question, which has a player for all
    player.controls = !choice;
    if (!choice) place.replaceChildren(player);
    else if (pane.kind === "video") {
      const frame = element("div", "", "frame");
      frame.append(player);
      player.addEventListener("loadedmetadata", () => frame.style.setProperty(
        "--ratio", player.videoWidth / player.videoHeight || 1));
      place.replaceChildren(frame);
    } else {
      const card = element("button", "", "listen");
      card.type = "button";
      card.dataset.do = "listen";
      card.append(element("b", letter(choice)), element("small"));
      place.replaceChildren(card, player);
    }
  }
  return true;
}

const letter = (choice) => LETTERS[[...choice.parentElement.children].indexOf(choice)];

// The numbers of a point, and how well they are known.
export function table({ rows, columns, words }, known = "") {
  const made = element("table");
  if (columns.length > 1) {
    const head = element("tr");
    head.append(element("td"), ...columns.map((name) => scoped("th", name, "col")));
    made.append(head);
  }
  for (const row of rows) {
    const line = element("tr");
    line.append(scoped("th", row.name, "row"), ...row.shown.map((value) => element("td", value)));
    made.append(line);
  }
  return [...(words ? [element("p", words)] : []), made,
    ...(known ? [element("p", `Known ${known}.`, "muted")] : [])];
}

function scoped(tag, text, scope) {
  const made = element(tag, text);
  made.scope = scope;
  return made;
}

async function copy(target, { rows }) {
  const text = rows.map((row) => [row.name, ...row.values].join("\t")).join("\n");
  try {
    await navigator.clipboard.writeText(text);
  } catch { // without HTTPS there is no clipboard but the old one
    const area = element("textarea", text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  target.textContent = "Copied";
  setTimeout(() => (target.textContent = "Copy"), 2000);
}

const panesOf = (question) => question.panes ?? SIDES.map((side) => question[side]);
const ungraded = (answer) => answer.replace(/ (slightly|clearly)$/, "");
const nth = (i) => `${NTH[i]} choice`;
const best = (i) => (i ? `${NTH[i]} best` : "Best");

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

// Darken what lies outside of a rectangle in the middle, by its shares of the frame.
export function cut(place, wide, tall) {
  const veil = place.querySelector(".cut");
  if (veil) veil.style.transform = `scale(${wide}, ${tall})`; // moves no layout
}

// Angles are counter-clockwise, those of style sheets clockwise.
export function turn(place, angle, scale) {
  const image = place.querySelector("img");
  if (image) image.style.transform = `rotate(${-angle}rad) scale(${scale})`;
}

function toGo({ remaining }) {
  return remaining ? `about ${remaining} to go` : "";
}

function words(progress) {
  const { answered, own, raters, known } = progress;
  const crowd = raters > 1 && answered > own ? `${answered} by ${raters} people` : "";
  return [`${own} ${own === 1 ? "answer" : "answers"}${crowd && " by you"}`, crowd, toGo(progress),
    known && `best known ${known}`].filter(Boolean).join(" · ");
}

// The end of levelling a photo: the picture as it will be saved, fine-tuned by hand, and saved.
import { cut, element, rectangle, turn } from "./duel.js";

const STEP = 0.1; // degrees
const REACH = { sure: 5, unsure: 45 }; // degrees that the slider goes either way

// `page` is what duel.js lends: the parts of the page, and ways to talk to the server.
export default function ending(page) {
  const { root, part, button } = page;
  const media = part.best.querySelector(".media");
  const slider = element("input");
  Object.assign(slider, { type: "range", step: STEP, id: "angle" });
  const shown = element("output");
  shown.htmlFor = "angle";
  const label = element("label", "Fine-tune", "hidden");
  label.htmlFor = "angle";
  const straighten = element("div", "", "straighten");
  straighten.append(label, step("turn-left", "↶", "Turn 0.1° counter-clockwise", -1), slider,
    step("turn-right", "↷", "Turn 0.1° clockwise", 1), shown);
  part.outcome.classList.add("stacked");
  part.outcome.after(straighten, part.lines);
  part.outcome.querySelector(".told").hidden = part.own.hidden = true;
  const line = element("div", "", "guide-line");
  const guide = tool("Guide", "G", () => guided(guide.getAttribute("aria-pressed") !== "true"));
  const save = tool("Save", "S", () => saved());
  save.classList.add("strong");
  const tools = part.done.querySelector(".tools.centred");
  button("before")[0].innerHTML = "<kbd>B</kbd> Show before";
  tools.prepend(save);
  button("before")[0].after(guide, tool("Turn 90°", "R", quarter));
  tools.querySelector("[data-do=history]").hidden = true; // what was compared is of no use here
  // For one photo there is nothing to skip to: a pair that looks alike is an answer.
  root.querySelector("[data-answer=skip]").hidden = true;
  part.finish.textContent = "Fine-tune";
  part.finish.title = "Turn it by hand, and save it";
  part.finish.before(tool("Turn 90°", "R", quarter));
  let angle = 0, touched = false, result = null, before = false, waiter = 0, height = 50;

  function step(name, text, words, sign) {
    const made = element("button", text, name);
    made.type = "button";
    made.setAttribute("aria-label", words);
    made.addEventListener("click", () => nudge(sign * STEP));
    return made;
  }

  function tool(text, key, act) {
    const made = element("button");
    made.type = "button";
    made.append(element("kbd", key), ` ${text}`);
    made.addEventListener("click", act);
    return made;
  }

  async function show(found, first) {
    clearTimeout(waiter);
    const fresh = first || !result;
    result = found;
    const { more, best, following } = found;
    if (fresh || !touched) {
      angle = more.angle;
      touched = false;
    }
    if (fresh) {
      const middle = -degrees(angle), reach = more.sure ? REACH.sure : REACH.unsure;
      slider.min = (middle - reach).toFixed(1);
      slider.max = (middle + reach).toFixed(1);
      await page.fill(media, best, "The photo as it will be saved");
      media.querySelector(".frame")?.append(line);
      before = false;
    }
    slider.value = -degrees(angle);
    part.verdict.textContent = more.title;
    part.following.hidden = !following;
    if (following) part.following.href = following;
    button("undo").forEach((b) => (b.disabled = found.progress.answered === 0));
    for (const name of ["more", "before"]) button(name).forEach((b) => (b.hidden = false));
    button("more")[0].textContent = found.progress.answered ? "Compare more" : "Compare";
    draw();
    if (fresh) {
      part.verdict.focus();
      page.say([more.title, ...more.lines].join(". "));
    } else if (!touched) page.say(more.lines.join(". "));
    // Until it is saved, or the next photo is ready.
    if (more.pending || (more.left && !following)) waiter = setTimeout(() => root.dataset.state === "done"
      && page.alone(async () => show(await page.call("finish"), false)), 300);
  }

  // The cut of the photo in a frame of the photo's own shape, so that nothing moves but the photo.
  function draw() {
    const pane = result.best, at = before ? 0 : angle;
    const [width, tall] = rectangle(pane, at);
    const scale = Math.min(pane.width / width, pane.height / tall);
    turn(media, at, scale);
    cut(media, (scale * width) / pane.width, (scale * tall) / pane.height);
    line.style.top = `${height}%`;
    shown.textContent = inWords(angle);
    slider.setAttribute("aria-valuetext", inWords(angle));
    button("before")[0].setAttribute("aria-pressed", before);
    const state = touched ? "open" : result.more.state;
    part.lines.replaceChildren(...(touched ? ["Turned by hand."] : result.more.lines)
      .map((text) => element("p", text)));
    save.hidden = result.more.state === "none" || ["saved", "same"].includes(state);
    save.disabled = state === "saving";
    save.lastChild.textContent = state === "saving" ? " Saving …" : " Save";
    const left = result.more.left ? ` (${result.more.left} left)` : "";
    part.following.textContent = save.hidden ? `Next photo${left}` : `Next without saving${left}`;
    part.following.classList.toggle("strong", save.hidden);
  }

  function nudge(by) {
    set(Number(slider.value) + by);
  }

  function set(value) {
    slider.value = value;
    angle = (-Number(slider.value) * Math.PI) / 180;
    touched = true;
    before = false;
    draw();
  }

  function guided(on) {
    guide.setAttribute("aria-pressed", on);
    line.hidden = !on;
  }

  const saved = () => page.alone(async () => {
    if (save.hidden || save.disabled) return;
    const value = touched ? angle : null;
    touched = false;
    await show(await page.call("act", { name: "save", value }), false);
  });

  function quarter() {
    page.alone(async () => {
      await page.call("act", { name: "turn", value: Math.PI / 2 });
      result = null;
      await page.again();
      page.notice("Turned by a quarter. The questions begin anew.", 2500);
    });
  }

  slider.addEventListener("input", () => set(slider.value));
  for (const name of ["pointerdown", "pointermove"])
    media.addEventListener(name, (event) => {
      const box = media.querySelector(".frame")?.getBoundingClientRect();
      if (!box || (name === "pointermove" && !event.buttons)) return;
      height = clamp((100 * (event.clientY - box.top)) / box.height, 0, 100);
      draw();
    });
  guided(true);

  return {
    show,
    before(on) {
      before = on;
      draw();
    },
    // Whether a key meant something.
    key(event) {
      const done = root.dataset.state === "done", name = event.key.toLowerCase();
      if (name === "r" && !event.repeat) return quarter(), true;
      if (!done || !result) return false;
      const along = { arrowleft: -1, arrowright: 1 }[name], up = { arrowup: -1, arrowdown: 1 }[name];
      if (along && !(event.target === slider && !event.shiftKey))
        return nudge(along * (event.shiftKey ? 10 : 1) * STEP), true;
      if (up && event.target !== slider)
        return (height = clamp(height + up, 0, 100)), draw(), true;
      if (event.repeat) return false;
      if (name === "b") return (before = !before), draw(), true;
      if (name === "g") return guided(line.hidden), true;
      if (name === "s") return saved(), true;
      return false;
    },
  };
}

const degrees = (angle) => (angle * 180) / Math.PI;
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

function inWords(angle) {
  const value = Math.abs(degrees(angle)).toFixed(1);
  if (value === "0.0") return "0.0°";
  return `${value}° ${angle > 0 ? "counter-clockwise" : "clockwise"}`;
}

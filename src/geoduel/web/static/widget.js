// The duel in a notebook: follows duel.js in one module, and talks to the study by messages.
export default {
  render({ model, el }) {
    const waiting = new Map();
    const pictures = new Map();
    let count = 0;
    model.on("msg:custom", ({ to, reply, error, status, pictures: more, traits }) => {
      // Reactive notebooks run a cell again when the page changes a trait, not the program.
      if (traits) {
        for (const [name, value] of Object.entries(traits)) model.set(name, value);
        model.save_changes();
      }
      for (const [name, data] of Object.entries(more ?? {})) pictures.set(name, data);
      const promise = waiting.get(to);
      waiting.delete(to);
      if (error) promise?.reject(Object.assign(new Error(error), { status }));
      else promise?.resolve(reply);
    });
    const send = (action, body) => new Promise((resolve, reject) => {
      waiting.set(++count, { resolve, reject });
      model.send({ number: count, action, body });
    });
    const root = document.createElement("div");
    root.tabIndex = -1; // the notebook has keys of its own: ours work where one has clicked
    el.classList.add("geoduel");
    el.append(root);
    // A reply that is late still counts: nothing is sent again, to a kernel that is at work.
    const slow = "The notebook’s kernel does not answer. If it is at work, this goes on when it is done. "
      + "If it has ended, start it and run the cells again: all that was answered before is kept "
      + "where the study has a storage.";
    return mount(root, { send, url: (path) => pictures.get(path) ?? path, patience: 15000, slow },
      { keys: root, solo: true, question: model.get("question"), lang: model.get("lang") });
  },
};

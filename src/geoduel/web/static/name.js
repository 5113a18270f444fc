// The page that asks for a name: a new one gets a link of its own.
const form = document.querySelector("form[data-join]");
const wrong = document.querySelector("#wrong");
const site = new URL("../", import.meta.url); // where the server is shown, behind a proxy too

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const rater = form.rater.value;
  try {
    const reply = await fetch(new URL(`api/studies/${form.dataset.join}/join`, site), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ rater }),
    });
    const content = await reply.json();
    if (reply.ok) {
      location.href = new URL(content.page, site);
      return;
    }
    wrong.textContent = content.error;
  } catch {
    wrong.textContent = "The server does not answer. Try again.";
  }
  wrong.hidden = false;
});

// Requests to the server of this page. The key is of this page's origin alone; the cookie is not readable here.

const KEY = "key";
const tab = crypto.randomUUID();

export class Refusal extends Error {
  constructor(message, code, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

async function post(name, body) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Vaultseek-Key": localStorage.getItem(KEY) ?? "" },
      body: JSON.stringify(body),
      credentials: "same-origin",
      redirect: "error",
    });
  } catch {
    throw new Refusal("The `vaultseek ui` command of this page has stopped. Run it again.", "ended", 0);
  }
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({ error: { message: response.statusText, code: "internal" } }));
  throw new Refusal(error.message, error.code, response.status);
}

/** Exchange the token in the address, if there is one, for a session; the address is left without it. */
export async function openSession() {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const { key } = await (await post("session", { token })).json();
    localStorage.setItem(KEY, key);
  } catch (error) {
    // The address of a page that is open here already: that session goes on.
    if (!localStorage.getItem(KEY)) throw error;
  }
}

export const ask = async (name, body = {}) => (await post(name, body)).json();

/** Call a method of the daemon; a call of the same turn takes the place of one that still runs. */
export async function call(method, params, { turn, watching = false } = {}) {
  const answer = await ask("call", { method, params, watching, ...(turn ? { turn: `${tab}:${turn}` } : {}) });
  if (answer.superseded) throw new Refusal("a newer call replaced it", "superseded", 0);
  return answer;
}

/** Return the address of a picture, or of the page of a PDF as one. That of a drawing has no origin: nothing in it could act, wherever it is opened. */
export async function picture(vault, path, page) {
  const data = await (await post("picture", { vault, path, ...(page ? { page } : {}) })).blob();
  if (data.type !== "image/svg+xml") return URL.createObjectURL(data);
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await data.text())}`;
}

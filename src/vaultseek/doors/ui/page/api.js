// Requests to the server of this page. Only this page's origin has the key; scripts cannot read the cookie.

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
    throw new Refusal("The `vaultseek ui` command that served this page has stopped. Run it again.", "ended", 0);
  }
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({ error: { message: response.statusText, code: "internal" } }));
  throw new Refusal(error.message, error.code, response.status);
}

/** Exchange the token in the address, if any, for a session, and remove it from the address. */
export async function openSession() {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const { key } = await (await post("session", { token })).json();
    localStorage.setItem(KEY, key);
  } catch (error) {
    // The address of a page that is already open here: its session continues.
    if (!localStorage.getItem(KEY)) throw error;
  }
}

export const ask = async (name, body = {}) => (await post(name, body)).json();

/** Call a method of the daemon; a call of the same turn replaces a running one. */
export async function call(method, params, { turn, watching = false } = {}) {
  const answer = await ask("call", { method, params, watching, ...(turn ? { turn: `${tab}:${turn}` } : {}) });
  if (answer.superseded) throw new Refusal("a newer call replaced this one", "superseded", 0);
  return answer;
}

/** Return the address of a picture, or of a PDF page as a picture. The address of a drawing has no origin, so nothing in it can act, wherever it is opened. */
export async function picture(vault, path, page) {
  const data = await (await post("picture", { vault, path, ...(page ? { page } : {}) })).blob();
  if (data.type !== "image/svg+xml") return URL.createObjectURL(data);
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await data.text())}`;
}

// Requests to the server: a stream of JSON lines, or an error.
export class Problem extends Error {
  constructor(reason) {
    super(reason.message);
    this.reason = reason;
  }
}

const LOST = { message: "Connection lost. Retrying… (Is wordsway serve still running?)", status: 0, gone: true };

export async function get(path) {
  let response;
  try { response = await fetch(path); } catch { throw new Problem(LOST); }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(body.error ?? LOST);
  return body;
}

export async function ask(path, body, receive, signal) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST", signal, body: JSON.stringify(body), headers: { "content-type": "application/json" },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(LOST);
  }
  if (!response.ok) {
    const said = await response.json().catch(() => ({}));
    throw new Problem(said.error ?? LOST);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try { part = await reader.read(); } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(LOST);
    }
    if (part.done) return;
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      if (event.kind === "error") throw new Problem(event);
      receive(event);
    }
  }
}

// A reader of answer streams for the browser that survives a dropped connection: what
// lineage_reference.client does in Python. The last thing it shows has a final status.
//
//   for await (const shown of follow("/runs/stream", {method: "POST"}, {thread: "t", before: ""}))
//     render(shown.text, shown.status, shown.recovered, shown.message);

export const DELAYS = [1, 2, 4]; // seconds before the second, third and fourth request
export const EVERY = 5; // seconds before each one after those
export const LIMIT = 240; // seconds after which the reader gives up

export const LOST = "This conversation no longer exists on the server.";
export const GAVE_UP = "The connection was lost, and the answer is not complete yet. Reload to look again.";

const realClock = {
  now: () => performance.now() / 1000,
  sleep: (seconds) => new Promise((done) => setTimeout(done, seconds * 1000)),
};

// How servers say that a run is over: "complete" or "failed"; null for any other event.
export function ended({ name, data }) {
  if (name === "end" || name === "error") return name === "end" ? "complete" : "failed";
  if (name === "lifecycle" || data?.method === "lifecycle") {
    const params = data?.params ?? data ?? {};
    const phase = (params.data ?? params).event;
    if (!params.namespace?.length) return { completed: "complete", failed: "failed" }[phase] ?? null;
  }
  return null;
}

// The text that an event adds: of {"text": ...}, or of LangGraph's "messages" tuples.
export function piece({ name, data }) {
  if (typeof data?.text === "string") return data.text;
  return name === "messages" && Array.isArray(data) ? textOf(data[0]?.content) : "";
}

// `before` is the id of the thread's head from before the run ("" for a new thread, null if it is not known).
export async function* follow(url, request, options) {
  const { thread, before = null, terminal = ended, text: added = piece } = options;
  let text = "";
  const response = await fetch(url, request);
  if (!response.ok) throw new Error(`the stream was refused: ${response.status}`);
  try {
    for await (const event of events(response.body)) {
      const status = terminal(event);
      if (status !== null) {
        yield shown(text, status, false, status === "failed" ? String(event.data?.message ?? event.data) : "");
        return;
      }
      const more = added(event);
      if (more) {
        text += more;
        yield shown(text, "streaming");
      }
    }
  } catch (error) {
    if (!(error instanceof TypeError || error.name === "AbortError")) throw error;
  }
  yield* recover(text, { ...options, thread, before });
}

// Ask for the answer of a thread until it is complete; `text` is what is shown now.
export async function* recover(text, { thread, before = null, base = "", clock = realClock }) {
  const start = clock.now();
  const server = { base, routed: true };
  let recovered = false;
  for (let tries = 0; ; tries += 1) {
    const found = await ask(server, thread, before);
    if (found) {
      if (found.content) [text, recovered] = [found.content, true]; // shown text is never replaced by nothing
      if (found.complete) return yield shown(text, "complete", recovered);
      if (["failed", "cancelled", "interrupted"].includes(found.status)) {
        return yield shown(text, found.status, recovered);
      }
      if (found.status === "lost" && before !== "") return yield shown(text, "lost", recovered, LOST);
      if (found.status === "refused") return yield shown(text, "gave_up", recovered, GAVE_UP);
      yield shown(text, "recovering", recovered);
    }
    const delay = DELAYS[tries] ?? EVERY;
    if (clock.now() - start + delay > LIMIT) {
      const lost = found?.status === "lost";
      return yield shown(text, lost ? "lost" : "gave_up", recovered, lost ? LOST : GAVE_UP);
    }
    await clock.sleep(delay);
  }
}

function shown(text, status, recovered = false, message = "") {
  return { text, status, recovered, message };
}

// What the server knows of the answer; null if it could not say for now.
async function ask(server, thread, before) {
  const name = encodeURIComponent(thread);
  try {
    if (server.routed) {
      const query = before === null ? "" : `?before=${encodeURIComponent(before)}`;
      const answer = await fetch(`${server.base}/api/threads/${name}/final-answer${query}`);
      if (answer.status !== 404) return await read(answer);
      const body = await answer.json().catch(() => null);
      if (body?.error?.code === "thread_not_found") return { status: "lost" };
      server.routed = false; // any other 404 means that the route is missing
    }
    const answer = await fetch(`${server.base}/threads/${name}/state`);
    if (answer.status === 404) return { status: "lost" };
    const state = await read(answer);
    return state === null || state.status === "refused" ? state : fromState(state, before);
  } catch (error) {
    if (error instanceof TypeError || error instanceof SyntaxError) return null;
    throw error;
  }
}

async function read(answer) {
  if (answer.status >= 500 || [408, 425, 429].includes(answer.status)) return null;
  return answer.status >= 400 ? { status: "refused" } : await answer.json();
}

// The server-sent events of a body. One that was cut off before its end is not given.
async function* events(body) {
  const reader = body.getReader(); // a pipe would throw away what it holds when the connection breaks
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r\n\r\n|\n\n|\r\r/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { name: "message", data: [] };
      for (const line of block.split(/\r\n|\n|\r/)) {
        const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line);
        if (field === "event") event.name = text;
        else if (field === "data") event.data.push(text);
      }
      yield { name: event.name, data: parsed(event.data.join("\n")) };
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// -- the answer in a raw state, where the server has no route for it ------------------------------------------

const USER = ["human", "user"];
const ASSISTANT = ["ai", "assistant", "AIMessageChunk"];

export function fromState(state, before = null) {
  const turn = currentTurn(state.values?.messages ?? []);
  const said = turn.filter((message) => ASSISTANT.includes(role(message)));
  const status = statusOf(state, said.length > 0, before);
  const texts = said.map((message) => textOf(message.content)).filter((text) => text.trim());
  const old = status === "running"; // then the head shows the turn before
  const complete = status === "complete";
  return {
    content: old ? "" : (texts.at(-1) ?? ""),
    completed_at: complete ? (state.created_at ?? null) : null,
    complete,
    status,
  };
}

function statusOf(state, answered, before) {
  const tasks = state.tasks ?? [];
  const id = state.config?.configurable?.checkpoint_id ?? state.checkpoint?.checkpoint_id ?? "";
  const copied = before !== null && state.metadata?.source === "fork";
  if (copied || (before && id <= before)) return "running";
  if (state.interrupts?.length || tasks.some((task) => task.interrupts?.length)) return "interrupted";
  const errors = tasks.map((task) => task.error).filter(Boolean).map(String);
  if (errors.length) return errors.every((error) => error.includes("CancelledError")) ? "cancelled" : "failed";
  if (state.next?.length || tasks.length) return "unfinished";
  return answered ? "complete" : "unanswered";
}

function currentTurn(messages) {
  let turn = [];
  for (const message of messages) turn = USER.includes(role(message)) ? [] : [...turn, message];
  return turn;
}

function role({ type, role: name }) {
  return String((type && type !== "message" ? type : name) ?? "");
}

function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block) => {
      if (typeof block === "string") return block;
      return ["text", "output_text"].includes(block?.type) ? (block.text ?? "") : "";
    })
    .join("");
}

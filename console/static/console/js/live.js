// The socket of this page: hints come in, nothing but "I watch these" goes out.
// A page says how far it is each time it connects, so a lost hint or a lost hour costs nothing.
const SILENT_MS = 7000; // the server says something every two seconds
const HIDDEN_MS = 10000; // a tab that nobody sees rests after this
const LONGEST_MS = 20000;
const SIGNED_OUT = 4401;

class Live {
  #watchers = new Set();
  #listeners = new Set();
  #socket = null;
  #timer = 0;
  #attempts = 0;
  #hidden = 0;
  #wasOpen = false;
  state = "off"; // off, live, away, paused
  heardAt = 0;
  offset = 0;
  /** Since when each part that cannot be fetched could not, by its path and the page's own clock. */
  #lost = new Map();
  /** The moment of the last news, in the server's words; said with every request for a part. */
  mark = "";

  start() {
    this.#hear(document.body.dataset.now);
    document.addEventListener("visibilitychange", () => this.#look());
    window.addEventListener("online", () => this.#reconnect(0));
    window.setInterval(() => this.#checkSilence(), 1000);
    this.#connect();
  }

  /** The present by the server's clock, in milliseconds. */
  now() {
    return Date.now() + this.offset;
  }

  /** Since when some part of this page could not be fetched, the longest of them; 0 while all can. */
  get lostAt() {
    return this.#lost.size ? Math.min(...this.#lost.values()) : 0;
  }

  /** A part could not be fetched; the page is not live until that very part could be. */
  lose(path) {
    if (!this.#lost.has(path)) this.#lost.set(path, performance.now());
  }

  /** A part was fetched, or is not asked for again. */
  find(path) {
    this.#lost.delete(path);
  }

  /**
   * Watch tasks while an element is on the page.
   * tasks() gives {id: seq} as shown now; moved(ids) and others() are told what is further.
   */
  watch(element, { tasks = () => ({}), moved = () => {}, others = () => {}, reviews = () => {} }) {
    this.#watchers.add({ element, tasks, moved, others, reviews });
    this.say();
  }

  /** Hear every change of state, for freshness. */
  listen(listener) {
    this.#listeners.add(listener);
    listener(this);
  }

  /** Tell the server what is watched now. */
  say(again = false) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    const tasks = Object.assign({}, ...this.#present().map((one) => one.tasks()));
    this.#socket.send(JSON.stringify({ type: "watch", tasks, again }));
  }

  /** Have everything look again, as after something this page did itself. */
  poke() {
    // What it did itself may be younger than the last news: an answer from before must not come.
    this.mark = "";
    for (const one of this.#present()) {
      one.moved(Object.keys(one.tasks()));
      one.others();
    }
  }

  #present() {
    for (const one of this.#watchers) if (!one.element.isConnected) this.#watchers.delete(one);
    return [...this.#watchers];
  }

  #connect() {
    if (document.hidden && this.state === "paused") return;
    const scheme = window.location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${window.location.host}/live/`);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#attempts = 0;
      this.say(this.#wasOpen);
      this.#wasOpen = true;
    });
    socket.addEventListener("message", (event) => this.#take(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (this.#socket === socket) this.#closed(event.code);
    });
  }

  #take(news) {
    this.#hear(news.now);
    this.mark = news.mark ?? "";
    if (news.away !== undefined || this.state !== "live") this.#set(news.away ? "away" : "live");
    const moved = Object.keys(news.tasks ?? {});
    for (const one of this.#present()) {
      if (typeof news.reviews === "number") one.reviews(news.reviews);
      if (moved.length) one.moved(moved);
      if (news.others) one.others();
    }
  }

  #hear(now) {
    if (now) this.offset = Date.parse(now) - Date.now();
    this.heardAt = performance.now();
  }

  #closed(code) {
    this.#socket = null;
    if (code === SIGNED_OUT) {
      window.location.reload();
    } else if (this.state !== "paused") {
      this.#set("away");
      this.#retry();
    }
  }

  #retry() {
    this.#attempts += 1;
    if (this.#attempts === 3) this.#askWhetherSignedIn();
    // Full jitter: a thousand pages that lost their server do not come back in one second.
    const longest = Math.min(LONGEST_MS, 500 * 2 ** this.#attempts);
    this.#reconnect(Math.random() * longest);
  }

  #reconnect(wait) {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      if (!this.#socket && this.state !== "off") this.#connect();
    }, wait);
  }

  async #askWhetherSignedIn() {
    try {
      const answer = await fetch("/signed-in/", { headers: { "HX-Request": "true" } });
      if (answer.status === 401) window.location.reload();
    } catch {
      // Nobody answers: the page says so already.
    }
  }

  #checkSilence() {
    if (this.#socket && performance.now() - this.heardAt > SILENT_MS) {
      const silent = this.#socket;
      this.#closed(0);
      silent.close();
    }
  }

  #look() {
    window.clearTimeout(this.#hidden);
    if (document.hidden) {
      this.#hidden = window.setTimeout(() => {
        this.#set("paused");
        this.#socket?.close(1000);
      }, HIDDEN_MS);
    } else if (this.state === "paused") {
      this.#set("away");
      this.#attempts = 0;
      this.#reconnect(0);
    }
  }

  #set(state) {
    this.state = state;
    for (const listener of this.#listeners) listener(this);
  }
}

export const live = new Live();

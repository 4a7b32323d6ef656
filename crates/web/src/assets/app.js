"use strict";
// Logs in with the token in the address, keeps the page up to date, and answers keys. Pages can be read without it.
(() => {
  const byId = (id) => document.getElementById(id);
  // A typed address may have a `%` that is no escape.
  const decoded = (text) => {
    try { return decodeURIComponent(text); } catch { return text; }
  };

  // The token is behind `#`, which no server sees. It is removed from the address and the history at once.
  const login = byId("login");
  if (login) {
    const token = location.hash.slice(1);
    if (token) {
      history.replaceState(null, "", location.pathname + location.search);
      login.elements.token.value = decoded(token);
      login.submit();
    }
    return;
  }

  // Loads the page again and replaces the main part. Open steps stay open, and the focus stays.
  // The browser runs no scripts of a document that a request parses.
  let busy = false;
  // Whether a loaded page was not shown because the person was writing, or has selected a text in it.
  let isBehind = false;
  const refresh = () => new Promise((done) => {
    if (busy) return done(false);
    busy = true;
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.timeout = 15000;
    request.open("GET", location.href);
    request.onloadend = () => {
      busy = false;
      const fresh = request.response && request.response.getElementById("main");
      if (request.status === 401 || (request.responseURL && new URL(request.responseURL).pathname === "/login")) {
        location.reload();
      } else if (request.status === 0 || request.status === 503) {
        // The page stays as it is: its readers need what it shows.
        const why = fresh && fresh.querySelector("p");
        tellLost("look", why ? why.textContent : "The server does not answer.");
      } else if (fresh) {
        tellLost("look", "");
        isBehind = isWriting() || hasSelected();
        if (!isBehind) replace(fresh);
      }
      done(true);
    };
    request.send();
  });
  // Why the page may be out of date: its stream of events is lost, or its last look was refused. A bar says so.
  const lost = { stream: "", look: "" };
  let state = "";
  const tellLost = (what, why) => {
    lost[what] = why;
    const words = lost.stream || lost.look;
    const [bar, fresh] = [byId("lost"), byId("fresh")];
    bar.textContent = words && words[0].toUpperCase() + words.slice(1) + " What this page shows may be out of date.";
    bar.hidden = !words;
    fresh.textContent = words && !lost.stream ? "out of date" : state;
    fresh.classList.toggle("live-now", Boolean(state) && !words);
  };
  const isWriting = () => {
    const at = document.activeElement;
    return at && (at.matches("select, textarea") || (at.matches("input") && at.value !== at.defaultValue));
  };
  const hasSelected = () => {
    const selection = getSelection();
    return !selection.isCollapsed && byId("main").contains(selection.anchorNode);
  };
  const fields = (room) => [...room.querySelectorAll("select, textarea, input:not([type=hidden])")];
  const isTyped = (field) => field.matches("select") || field.value !== field.defaultValue;
  const keyOf = (details, nth) => (details.closest("[id]") || {}).id + "/" + nth;
  const replace = (fresh) => {
    const main = byId("main");
    const all = [...main.querySelectorAll("details")];
    const states = new Map(all.map((one, nth) => [keyOf(one, siblings(one).indexOf(one)), one.open]));
    const at = document.activeElement;
    const focus = at && at !== main && main.contains(at) && placeOf(at);
    for (const one of fresh.querySelectorAll("details")) {
      const open = states.get(keyOf(one, siblings(one).indexOf(one)));
      if (open !== undefined) one.open = open;
    }
    if (main.innerHTML === fresh.innerHTML) return;
    const isScrolled = (one) => (one.scrollTop || one.scrollLeft) && !one.closest("#live");
    const scrolled = [...main.querySelectorAll("*")].filter(isScrolled).map((one) => [placeOf(one), one.scrollTop, one.scrollLeft]);
    const typed = fields(main).filter(isTyped).map((one) => [one.name, one.value]);
    put(main, fresh);
    for (const [name, value] of typed) {
      const field = fields(main).find((one) => one.name === name);
      if (field) field.value = value;
    }
    for (const [place, top, left] of scrolled) {
      const one = elementAt(place);
      if (one) [one.scrollTop, one.scrollLeft] = [top, left];
    }
    const again = focus && at !== document.activeElement && elementAt(focus);
    if (again) again.focus({ preventScroll: true });
  };
  // The place of an element: which one of its kind it is in the next element around it that has an id.
  const kindOf = (one) => [one.tagName, one.getAttribute("href"), one.getAttribute("class")].join(" ");
  const alike = (room, tag, kind) => [...room.querySelectorAll(tag)].filter((one) => kindOf(one) === kind);
  const placeOf = (one) => {
    const [room, tag, kind] = [one.parentElement.closest("[id]"), one.tagName, kindOf(one)];
    return { id: one.id, room: room.id, tag, kind, nth: alike(room, tag, kind).indexOf(one) };
  };
  const elementAt = ({ id, room, tag, kind, nth }) => id ? byId(id) : byId(room) && alike(byId(room), tag, kind)[nth];
  // The turns of the agents stay in the page, so that a screen reader reads only the new ones.
  const put = (main, fresh) => {
    const [old, next] = [main, fresh].map((one) => one.querySelector("#live"));
    const nodes = [...document.adoptNode(fresh).childNodes];
    if (!old || !next) {
      main.replaceChildren(...nodes);
      return toEnd();
    }
    addNew(old.querySelector("ol"), [...next.querySelectorAll("ol > li")]);
    for (const one of [...main.childNodes]) if (one !== old) one.remove();
    const at = nodes.indexOf(next);
    old.before(...nodes.slice(0, at));
    old.after(...nodes.slice(at + 1));
  };
  const siblings = (details) => {
    const room = details.closest("[id]");
    return room ? [...room.querySelectorAll("details")] : [details];
  };

  // The newest turn is shown first, and stays in view unless the reader scrolls up.
  const toEnd = () => {
    const log = document.querySelector("#live .live");
    if (log) log.scrollTop = log.scrollHeight;
  };
  toEnd();

  // A drawing that is wider than its place opens at the node where the thread stands, or else at its first one.
  const toNode = (drawing) => {
    const node = drawing.querySelector(".node.current, .node.waiting, .node.failed") || drawing.querySelector(".node");
    if (!node) return;
    const [own, room] = [node, drawing].map((one) => one.getBoundingClientRect());
    drawing.scrollLeft += own.left + own.width / 2 - room.left - room.width / 2;
  };
  for (const drawing of document.querySelectorAll(".drawing")) toNode(drawing);

  // Loads the turns of the agents and adds the new ones, each at its place. A turn that is there stays, so that a screen reader
  // reads each turn once.
  let saying = false;
  const refreshTurns = () => new Promise((done) => {
    const list = document.querySelector("#live ol");
    if (saying || !list) return done(false);
    saying = true;
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.timeout = 15000;
    request.open("GET", `/threads/${own}/live`);
    request.onloadend = () => {
      saying = false;
      const fresh = request.response && request.response.querySelector("#live ol");
      if (fresh && list.isConnected) addNew(list, [...fresh.children]);
      done(true);
    };
    request.send();
  });
  const addNew = (list, fresh) => {
    // The next attempt of an agent uses the keys of the last one again, so the text counts, too.
    const nameOf = (one) => one.dataset.key + "\n" + one.textContent;
    const known = new Map([...list.children].map((one) => [nameOf(one), one]));
    const turns = fresh.map((one) => known.get(nameOf(one)) || document.adoptNode(one));
    const log = list.parentElement;
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
    const stays = new Set(turns);
    for (const gone of [...list.children].filter((one) => !stays.has(one))) gone.remove();
    let at = list.firstElementChild;
    for (const one of turns) {
      if (one === at) at = at.nextElementSibling;
      else list.insertBefore(one, at);
    }
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  };

  // One tab of the browser owns the stream of events and tells the other tabs: a browser opens few connections to one host.
  const own = (location.pathname.match(/^\/threads\/([0-9A-Z]+)(\/live)?$/) || [])[1];
  const isList = location.pathname === "/";
  // A page without the place that says so, such as a refusal, is not kept fresh and does not own the stream.
  const isFresh = () => byId("fresh") && (isList || own) && !byId("main").querySelector("form.act");
  const say = (text, why) => {
    state = text;
    tellLost("stream", why);
  };
  const sayLost = () => say("not connected", "The connection to the server is lost.");
  const again = (act, pause) => {
    let timer = 0;
    const later = () => { timer = timer || setTimeout(async () => { timer = 0; if (await act() === false) later(); }, pause); };
    return later;
  };
  const refreshSoon = again(refresh, 60);
  // Every step of any thread is such an event. It may also be a new name, a label or a fork of this one.
  const refreshLater = again(refresh, 1000);
  // The refresh waits: a click on a button moves the focus first, and must not lose its button.
  addEventListener("focusout", () => { if (isBehind) { isBehind = false; setTimeout(refreshSoon, 500); } });
  document.addEventListener("selectionchange", () => { if (isBehind && !hasSelected()) { isBehind = false; setTimeout(refreshSoon, 500); } });
  const turnsSoon = again(async () => { await refreshTurns(); }, 60);
  // Whether the page was loaded again after it started to listen. Events before that were lost.
  let hasCaughtUp = false;
  // Events come also while the root of the server is gone. Then nothing changes there, so each beat asks.
  const checkHealth = () => {
    const request = new XMLHttpRequest();
    request.open("GET", "/healthz");
    request.onload = () => { if ((request.status === 200) === Boolean(lost.look)) refreshSoon(); };
    request.send();
  };
  // A stream may stall without an error. It has a beat every 15 seconds.
  const SILENCE = 45000;
  let silence = 0;
  let reconnect = () => {};
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => { sayLost(); reconnect(); listen(); }, SILENCE);
  };
  const hear = (name, data) => {
    listen();
    const begins = name === "hello" || name === "reset";
    hasCaughtUp = hasCaughtUp || begins;
    const touches = (id) => id === own || document.querySelector(`main a[href="/threads/${id}"]`);
    if (name === "bye") say("the server has ended", "The server has ended.");
    else if (name === "lost") sayLost();
    else say("live", "");
    if (name === "beat") checkHealth();
    if (begins || (isList && (name === "threads" || name === "thread"))) refreshSoon();
    else if (name === "threads") refreshLater();
    else if (name === "thread" && touches(data.thread)) refreshSoon();
    else if (name === "turn" && data.thread === own) byId("live") ? turnsSoon() : refreshSoon();
    else if (name === "turn" && own && touches(data.thread)) turnsSoon();
  };
  if (isFresh() && window.EventSource) {
    const channel = window.BroadcastChannel && new BroadcastChannel("uwf-events");
    // Whether the stream of this tab has said hello. A new tab asks the others for that.
    let isOpen = false;
    if (channel) channel.onmessage = (message) => {
      const { name, data } = message.data;
      if (name !== "ask") hear(name, data);
      else if (isOpen) channel.postMessage({ name: "beat", data: {} });
    };
    const lead = () => new Promise(() => {
      const tell = (name, data) => {
        isOpen = name !== "lost" && name !== "bye";
        // The other tabs first: a fault in this page must not stop them.
        if (channel) channel.postMessage({ name, data });
        hear(name, data);
      };
      let stream;
      let later = 0;
      const open = () => {
        clearTimeout(later);
        if (stream) stream.close();
        stream = new EventSource("/api/v1/events");
        for (const name of ["hello", "reset", "threads", "thread", "turn", "beat", "bye"]) {
          stream.addEventListener(name, (event) => tell(name, JSON.parse(event.data)));
        }
        stream.onerror = () => {
          tell("lost", {});
          if (stream.readyState !== EventSource.CLOSED) return;
          // The stream was refused. If the session has ended, the refresh leads to the form to log in.
          refreshSoon();
          later = setTimeout(open, 10000);
        };
      };
      reconnect = () => { tell("lost", {}); open(); };
      open();
    });
    if (channel && navigator.locks) navigator.locks.request("uwf-events", lead);
    else lead();
    // If another tab owns the stream, its first event came before this page.
    setTimeout(() => { if (!hasCaughtUp) refreshSoon(); }, 400);
    if (channel) channel.postMessage({ name: "ask" });
    listen();
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }

  // A form is sent once. The server ensures that; here the buttons show it.
  const sendOnce = (form) => {
    const buttons = [...form.querySelectorAll("button")];
    // The pressed button is a field of the form. So it is disabled only after the browser has collected the fields.
    form.addEventListener("submit", () => setTimeout(() => { for (const one of buttons) one.disabled = true; }));
    // The browser may show the page again from its cache.
    addEventListener("pageshow", () => { for (const one of buttons) one.disabled = false; });
  };
  for (const form of document.querySelectorAll("form.act")) sendOnce(form);

  // Opens the step that the address names after `#`.
  const openTarget = () => {
    const target = location.hash && byId(decoded(location.hash.slice(1)));
    const details = target && target.querySelector("details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  // Keys, unless this browser switched them off.
  const OFF = "uwf-keys-off";
  const box = byId("keys-off");
  if (box) {
    box.checked = localStorage.getItem(OFF) === "yes";
    box.addEventListener("change", () => localStorage.setItem(OFF, box.checked ? "yes" : "no"));
  }
  const move = (by) => {
    const all = [...document.querySelectorAll("main .task > a, main .step > details > summary, main .row > a")];
    if (!all.length) return;
    const at = all.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  };
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    "/": () => { const field = byId("q"); field ? field.focus() : location.assign("/#q"); },
    "?": () => location.assign("/help"),
  };
  document.addEventListener("keydown", (event) => {
    const inField = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && inField) event.target.blur();
    const act = keys[event.key];
    if (!act || inField || event.ctrlKey || event.altKey || event.metaKey || localStorage.getItem(OFF) === "yes") return;
    event.preventDefault();
    act();
  });
})();

"use strict";
// Logs in with the token of the address, keeps the page fresh, and answers keys. Pages can be read without it.
(() => {
  const byId = (id) => document.getElementById(id);

  // The token is behind `#`, which no server sees. It leaves the address and the history at once.
  const login = byId("login");
  if (login) {
    const token = location.hash.slice(1);
    if (token) {
      history.replaceState(null, "", location.pathname + location.search);
      login.elements.token.value = decodeURIComponent(token);
      login.submit();
    }
    return;
  }

  // Brings the page again and puts its main part in the place of ours. Open steps stay open, and the focus stays.
  // A document that a request parses runs no scripts.
  let busy = false;
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
      } else if (fresh && !isWriting()) {
        replace(fresh);
      }
      done(request.status === 200);
    };
    request.send();
  });
  const isWriting = () => {
    const at = document.activeElement;
    return at && (at.matches("select, textarea") || (at.matches("input") && at.value !== at.defaultValue));
  };
  const keyOf = (details, nth) => (details.closest("[id]") || {}).id + "/" + nth;
  const replace = (fresh) => {
    const main = byId("main");
    const all = [...main.querySelectorAll("details")];
    const states = new Map(all.map((one, nth) => [keyOf(one, siblings(one).indexOf(one)), one.open]));
    const at = document.activeElement;
    const focus = at && main.contains(at) && { id: at.id, href: at.getAttribute("href"), tag: at.tagName };
    for (const one of fresh.querySelectorAll("details")) {
      const open = states.get(keyOf(one, siblings(one).indexOf(one)));
      if (open !== undefined) one.open = open;
    }
    if (main.innerHTML === fresh.innerHTML) return;
    main.replaceChildren(...document.adoptNode(fresh).childNodes);
    if (!focus) return;
    const again = focus.id ? byId(focus.id)
      : [...main.querySelectorAll(focus.tag)].find((one) => one.getAttribute("href") === focus.href);
    if (again) again.focus({ preventScroll: true });
  };
  const siblings = (details) => {
    const room = details.closest("[id]");
    return room ? [...room.querySelectorAll("details")] : [details];
  };
  window.uwfRefresh = refresh;

  // A step in the address is opened.
  const openTarget = () => {
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
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

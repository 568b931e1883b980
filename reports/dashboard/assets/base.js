// Elements, numbers, data and addresses: what all pages share.
"use strict";

const nightfuzz = (() => {
  const loaded = new Map();
  const waiting = new Map();

  // Keeps a file of data. Files in the folder `data` call this.
  function data(name, value) {
    loaded.set(name, value);
  }

  // Returns a promise of a file of data: out of this page, or out of the folder `data`.
  function part(name) {
    if (loaded.has(name)) return Promise.resolve(loaded.get(name));
    const inline = document.getElementById(`data-${name}`);
    if (inline) {
      data(name, JSON.parse(inline.textContent));
      return Promise.resolve(loaded.get(name));
    }
    if (!waiting.has(name)) {
      waiting.set(
        name,
        new Promise((resolve, reject) => {
          const script = h("script", {src: `data/${name}.js`});
          script.onload = () => resolve(loaded.get(name));
          script.onerror = () => {
            waiting.delete(name);
            reject(new Error(`data/${name}.js is missing`));
          };
          document.head.append(script);
        }),
      );
    }
    return waiting.get(name);
  }

  // Makes an element. Texts become text nodes, never HTML.
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "class") element.className = value;
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== ""));
    return element;
  }

  const number = value => value.toLocaleString("en-US");
  const short = value => new Intl.NumberFormat("en-US", {notation: "compact", maximumFractionDigits: 1}).format(value);
  const percent = value => `${Math.round(value * 100)}%`;
  const plural = (count, noun, many = `${noun}s`) => `${number(count)} ${count === 1 ? noun : many}`;

  function duration(seconds) {
    if (seconds < 60) return `${Math.round(seconds)} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 60
      ? `${minutes} min`
      : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  }

  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  function day(iso) {
    const [year, month, date] = iso.slice(0, 10).split("-").map(Number);
    return month ? `${date} ${MONTHS[month - 1]} ${year}` : "unknown day";
  }
  const time = iso => `${day(iso)}, ${iso.slice(11, 16)} UTC`;

  // A build in a few letters: the day of a nightly build, the version of another.
  function build(version) {
    const night = version.match(/dev(\d{4})(\d\d)(\d\d)/);
    return night ? day(night.slice(1).join("-")) : version.replace(/\+.*/, "");
  }

  // An address inside of the site: a path, and what a list is filtered by.
  function address(path, query = {}) {
    const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value !== null));
    return `#${path}${words.size ? `?${words}` : ""}`;
  }
  function place() {
    const [path, words = ""] = location.hash.slice(1).split("?");
    return {path: path || "/", query: Object.fromEntries(new URLSearchParams(words))};
  }
  // Puts a filter into the address without a step of the history.
  function remember(query) {
    history.replaceState(null, "", address(place().path, query));
  }

  const GRADES = {
    crash: "grave",
    "out-of-bounds": "grave",
    "wrong-result": "grave",
    "internal-error": "bad",
    "wrong-metadata": "bad",
    hang: "bad",
    performance: "mild",
    documentation: "mild",
  };
  const words = name => name.replaceAll("-", " ");
  const grade = name => h("span", {class: `grade ${GRADES[name] || "mild"}`}, words(name));
  const tag = (text, look = "") => h("span", {class: `tag ${look}`}, text);

  function status(bug) {
    const found = [tag(bug.status, bug.status === "fixed" ? "good" : bug.status === "known" ? "" : "plain")];
    if (bug.regression && bug.status === "open") found.push(tag("regression", "grave"));
    if (bug.verdict) found.push(tag(words(bug.verdict), bug.verdict === "real" ? "good" : ""));
    return h("span", {class: "tags"}, found);
  }

  // A copy button for a text; it says so when it is done.
  function copy(text, label = "Copy") {
    const button = h("button", {type: "button", class: "copy", "aria-live": "polite"}, label);
    button.addEventListener("click", async () => {
      let done = true;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        const area = h("textarea", {class: "hidden", "aria-label": "text to copy"});
        area.value = text;
        document.body.append(area);
        area.select();
        done = document.execCommand("copy");
        area.remove();
        button.focus();
      }
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      setTimeout(() => {
        button.textContent = label;
      }, 1600);
    });
    return button;
  }

  const TOKENS =
    /(#[^\n]*)|("""[\s\S]*?"""|f?"(?:[^"\\\n]|\\.)*"|f?'(?:[^'\\\n]|\\.)*')|\b(import|from|as|def|return|with|for|in|if|else|lambda|assert|raise|try|except|not|and|or|is|while|class|pass|True|False|None|print)\b/g;
  // Python code with its comments, texts and words of the language marked.
  function python(text) {
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(TOKENS)) {
      parts.push(
        text.slice(end, match.index),
        h("span", {class: match[1] ? "comment" : match[2] ? "text" : "word"}, match[0]),
      );
      end = match.index + match[0].length;
    }
    return [...parts, text.slice(end)];
  }
  const code = (text, label = "Code") =>
    h(
      "div",
      {class: "code"},
      h("pre", {tabindex: "0", role: "region", "aria-label": label}, h("code", {}, python(text))),
      copy(text),
    );
  const plain = (text, label) => h("pre", {class: "output", tabindex: "0", role: "region", "aria-label": label}, text);

  const facts = pairs =>
    h(
      "dl",
      {class: "facts"},
      pairs
        .filter(([, value]) => value !== "" && value !== null)
        .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    );
  const section = (title, ...children) => h("section", {class: "box"}, h("h2", {}, title), children);
  const muted = (...text) => h("p", {class: "muted"}, text);
  const link = (href, ...text) => h("a", {href}, text);

  return {
    data,
    part,
    h,
    number,
    short,
    percent,
    plural,
    duration,
    day,
    time,
    briefly: build,
    address,
    place,
    remember,
    words,
    grade,
    tag,
    status,
    copy,
    code,
    plain,
    facts,
    section,
    muted,
    link,
    GRADES,
  };
})();

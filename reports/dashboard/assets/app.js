// The start: reads the lists, and shows the page that the address names.
"use strict";

(async () => {
  const {h, address, place, time} = nightfuzz;
  const main = document.getElementById("main");
  const ROUTES = [
    [/^\/$/, site => nightfuzz.overview(site)],
    [/^\/bugs$/, (site, query) => nightfuzz.bugList(site, query)],
    [/^\/bugs\/(\d+)$/, (site, query, id) => nightfuzz.bugPage(site, Number(id))],
    [/^\/apis$/, (site, query) => nightfuzz.apiList(site, query)],
    [/^\/apis\/(.+)$/, (site, query, name) => nightfuzz.apiPage(site, decodeURIComponent(name))],
    [/^\/builds$/, site => nightfuzz.buildList(site)],
    [/^\/builds\/(.+)$/, (site, query, key) => nightfuzz.buildPage(site, decodeURIComponent(key))],
    [/^\/engines$/, site => nightfuzz.engineList(site)],
    [/^\/judgements$/, site => nightfuzz.judgementList(site)],
  ];

  nightfuzz.missing = (title, text) => ({
    title,
    node: [h("h1", {}, title), h("p", {}, text), h("p", {}, h("a", {href: "#/"}, "To the overview"))],
  });

  const site = await nightfuzz.part("index");
  site.build = new Map(site.builds.map(build => [build.key, build]));
  site.members = d3.group(site.bugs, bug => bug.cluster);

  let turn = 0;
  async function show(first = false) {
    const {path, query} = place();
    const own = ++turn;
    let page;
    try {
      const [pattern, draw] = ROUTES.find(([each]) => each.test(path)) || [
        /^/,
        () => nightfuzz.missing("No such page", "This site has no page at this address."),
      ];
      page = await draw(site, query, ...(path.match(pattern) || []).slice(1));
    } catch (error) {
      page = nightfuzz.missing("This page cannot be shown", String(error.message || error));
      console.error(error);
    }
    if (own !== turn) return;
    document.title = `${page.title} · nightfuzz`;
    main.replaceChildren(...[page.node].flat(Infinity).filter(Boolean));
    for (const each of document.querySelectorAll("nav a")) {
      const here = each.getAttribute("href").slice(1);
      if (here === "/" ? path === "/" : path.startsWith(here)) each.setAttribute("aria-current", "page");
      else each.removeAttribute("aria-current");
    }
    if (!first) {
      scrollTo(0, 0);
      main.focus({preventScroll: true});
    }
  }

  const jump = document.getElementById("jump");
  jump.form.addEventListener("submit", event => {
    event.preventDefault();
    const wanted = jump.value.trim();
    if (!wanted) return;
    jump.value = "";
    const number = Number(wanted.replace("#", ""));
    if (site.bugs.some(bug => bug.id === number)) location.hash = address(`/bugs/${number}`);
    else if (site.apis.some(api => api.name === wanted)) location.hash = address(`/apis/${wanted}`);
    else location.hash = address("/bugs", {q: wanted});
  });
  document.addEventListener("keydown", event => {
    if (
      event.key !== "/" ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)
    )
      return;
    event.preventDefault();
    jump.focus();
  });
  document.querySelector(".skip").addEventListener("click", event => {
    event.preventDefault();
    main.focus();
  });
  document.querySelector(".foot").append(`Written ${time(site.made)} by nightfuzz ${site.version}. Only public bugs are shown.`);
  addEventListener("hashchange", () => show());
  await show(true);
  document.documentElement.dataset.ready = "yes";
})();

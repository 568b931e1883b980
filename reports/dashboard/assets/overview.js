// The first page: what changed, what to report, and how the nights went.
"use strict";

(() => {
  const {h, number, short, percent, plural, duration, day, address, grade, tag, section, muted, link, words} =
    nightfuzz;

  const name = build => `${build.library} ${build.version}`;
  // The address of a night's bugs: the minute in which it began.
  nightfuzz.nightKey = night => night.started.slice(0, 16);

  function tile(count, label, href, look = "") {
    return h("a", {class: `tile ${count ? look : ""}`, href}, h("b", {}, number(count)), h("span", {}, label));
  }

  function line(bug, site) {
    const members = site.members.get(bug.cluster).length - 1;
    bug = site.members.get(bug.cluster).find(other => other.id === bug.cluster) || bug;
    return h(
      "li",
      {},
      grade(bug.grade),
      h(
        "div",
        {},
        link(address(`/bugs/${bug.id}`), bug.said),
        h("div", {class: "call"}, h("code", {}, bug.call)),
        h(
          "div",
          {class: "muted small"},
          [
            `bug ${bug.id}`,
            members ? `${members} more with the same cause` : "",
            `${words(bug.validity)} input`,
            bug.regression ? "regression" : "",
            `${bug.hits} of ${bug.runs} runs`,
          ]
            .filter(Boolean)
            .join(" · "),
        ),
      ),
    );
  }

  function list(bugs, site, most, all) {
    if (!bugs.length) return muted("No bug.");
    const firsts = bugs.filter((bug, place) => bugs.findIndex(other => other.cluster === bug.cluster) === place);
    return [
      h(
        "ol",
        {class: "bugs"},
        firsts.slice(0, most).map(bug => line(bug, site)),
      ),
      firsts.length > most ? h("p", {}, link(all, `All ${number(firsts.length)} causes →`)) : null,
    ];
  }

  function changed(site, night) {
    const pick = numbers => site.bugs.filter(bug => numbers.includes(bug.id));
    const fresh = pick([...new Set([...night.new, ...night.back])]).filter(bug => bug.status !== "fixed");
    const key = nightfuzz.nightKey(night);
    const open = site.bugs.filter(bug => bug.status === "open");
    const first = reportable(site);
    const columns = list => [...new Set(list.map(bug => bug.cluster))].slice(0, 6).join();
    const same = fresh.length && columns(fresh) === columns(first);
    return [
      h(
        "div",
        {class: "tiles"},
        tile(night.new.length, "new", address("/bugs", {night: key}), "grave"),
        tile(night.back.length, "back", address("/bugs", {back: key}), "grave"),
        tile(night.fixed.length, "fixed", address("/bugs", {fixed: key}), "good"),
        tile(new Set(open.map(bug => bug.cluster)).size, "open causes", address("/bugs", {status: "open"})),
        tile(
          new Set(first.map(bug => bug.cluster)).size,
          "worth an issue",
          address("/bugs", {alone: "yes", status: "open"}),
        ),
      ),
      // In a first night both lists begin alike: one list says it once.
      same
        ? h(
            "div",
            {class: "both"},
            section(
              "What broke, and what to report first",
              list(first, site, 8, address("/bugs", {alone: "yes", status: "open"})),
            ),
          )
        : h(
            "div",
            {class: "columns"},
            section("What broke", list(fresh, site, 6, address("/bugs", {night: key}))),
            section("Report first", list(first, site, 6, address("/bugs", {alone: "yes", status: "open"}))),
          ),
    ];
  }

  // Open bugs that may have an issue of their own, and that nobody has reported or called false.
  const reportable = site =>
    site.bugs.filter(
      bug =>
        bug.alone &&
        bug.status === "open" &&
        !bug.issue &&
        !["not-real", "duplicate", "wont-fix"].includes(bug.verdict),
    );

  function waits(site) {
    const judged = new Set(site.bugs.filter(bug => bug.verdict).map(bug => bug.cluster));
    const open = site.bugs.filter(bug => bug.status === "open");
    const clusters = new Set(open.map(bug => bug.cluster));
    const newest = new Map();
    for (const build of site.builds) newest.set(build.library, build.key);
    const gaps = site.apis.filter(api => api.state !== "tested");
    const rows = [
      ...(site.pending
        ? [[plural(site.pending, "finding"), "not examined yet: the next run starts with them", null]]
        : []),
      [
        plural([...clusters].filter(number => !judged.has(number)).length, "cause"),
        "not yet judged by a person",
        address("/bugs", {status: "open", judged: "no"}),
      ],
      [
        plural(new Set(reportable(site).map(bug => bug.cluster)).size, "cause"),
        "worth an issue of its own",
        address("/bugs", {alone: "yes", status: "open"}),
      ],
      [
        plural(gaps.length, "api"),
        `not tested in the newest build, of ${number(site.apis.length)}`,
        address("/apis", {tested: "no"}),
      ],
    ];
    return h(
      "ul",
      {class: "plainlist"},
      rows.map(([count, text, href]) => h("li", {}, h("b", {}, href ? link(href, count) : count), ` ${text}`)),
    );
  }

  function health(site) {
    return nightfuzz.strip(
      "Nights, the oldest first",
      site.nights.slice(-120).map(night => {
        const look = night.tests === 0 ? "grave" : night.unfinished ? "bad" : "good";
        const said =
          night.tests === 0
            ? "no test was run"
            : night.unfinished
              ? `${night.unfinished} of ${plural(night.runs, "run")} cut short`
              : plural(night.runs, "complete run");
        return {
          look,
          href: address("/bugs", {night: nightfuzz.nightKey(night)}),
          title: `${day(night.started)}: ${said}, ${short(night.tests)} tests, ${night.new.length} new`,
        };
      }),
    );
  }

  function openBugs(site, library) {
    const builds = site.builds.filter(build => build.library === library && (build.runs || build.new.length));
    if (builds.length < 2) return null;
    const points = builds.map((build, place) => ({...build, place}));
    return nightfuzz.lines(
      `Open bugs of ${library} over ${builds.length} builds; now ${builds.at(-1).open}`,
      points,
      point => point.place,
      {open: point => point.open},
      {
        names: points.map(point => nightfuzz.briefly(point.version)),
        curve: "step-after",
        told: point => `${point.version} (${point.date})`,
      },
    );
  }

  function reached(site) {
    if (site.nights.filter(night => night.operators).length > 2) {
      const nights = site.nights.filter(night => night.operators).map((night, place) => ({...night, place}));
      return nightfuzz.lines(
        `Operators reached by night, now ${nights.at(-1).operators}`,
        nights,
        night => new Date(night.started),
        {"operators reached": night => night.operators},
        {told: night => day(night.started), y: {zero: false}},
      );
    }
    if (site.growth.length < 3) return muted("The last night has no curve on record.");
    return nightfuzz.lines(
      "Operators reached in the last night, by minute",
      site.growth,
      point => point[0] / 60,
      {"operators reached": point => point[3]},
      {
        x: {label: "minutes of fuzzing", labelAnchor: "center"},
        told: point => `${duration(point[0])}, ${short(point[1])} tests`,
      },
    );
  }

  function classes(site) {
    const curve =
      site.nights.length > 2
        ? site.nights.filter(night => night.classes).map(night => [night.started, 0, night.classes])
        : site.growth;
    if (curve.length < 3) return muted("The last night has no curve on record.");
    const nights = site.nights.length > 2;
    return nightfuzz.lines(
      "Outcome classes seen",
      curve,
      point => (nights ? new Date(point[0]) : point[0] / 60),
      {"outcome classes": point => point[2]},
      {
        x: nights ? {} : {label: "minutes of fuzzing", labelAnchor: "center"},
        told: point => (nights ? day(point[0]) : duration(point[0])),
      },
    );
  }

  // Cells of the sweep by their result, worst last; over nights if several have tried some.
  function cells(site) {
    const nights = site.nights.filter(night => night.cells);
    const parts = [
      ...Object.entries(site.cells).map(([library, results]) => {
        const all = d3.sum(Object.values(results));
        const pairs = Object.entries(results).filter(([, count]) => count);
        return [
          h("p", {class: "small muted"}, `${number(all)} boundary classes of arguments of ${library}, by their result`),
          nightfuzz.bars(
            `Cells of ${library} by their result`,
            pairs.sort((a, b) => b[1] - a[1]),
          ),
        ];
      }),
      nights.length > 2
        ? nightfuzz.lines(
            "Cells tried by night",
            nights,
            night => new Date(night.started),
            {"cells tried": night => night.cells},
            {told: night => day(night.started)},
          )
        : null,
    ];
    return [...parts, muted("A cell is a boundary class of an argument. A cell whose call crashed counts as untried here.")];
  }

  function speed(site) {
    const nights = site.nights.filter(night => night.seconds);
    if (nights.length < 3) {
      return nightfuzz.plainTable(
        "Throughput by night",
        ["Night", "Tests", "Per second", "In the library"],
        nights
          .slice()
          .reverse()
          .map(night => [
            day(night.started),
            short(night.tests),
            number(Math.round(night.tests / night.seconds)),
            night.inside ? percent(night.inside) : "–",
          ]),
        [1, 2, 3],
      );
    }
    return nightfuzz.lines(
      "Tests per second by night",
      nights,
      night => new Date(night.started),
      {"tests per second": night => night.tests / night.seconds},
      {told: night => `${day(night.started)}, ${night.inside ? `${percent(night.inside)} inside the library` : ""}`},
    );
  }

  nightfuzz.overview = site => {
    const night = site.nights.at(-1);
    const libraries = [...new Set(site.builds.map(build => build.library))];
    if (!night)
      return {
        title: "Overview",
        node: [
          h("h1", {}, "No run is on record"),
          muted("Fuzz a build with `nightfuzz run`, then write the dashboard again."),
        ],
      };
    const curves = libraries.map(library => [library, openBugs(site, library)]).filter(([, curve]) => curve);
    const builds = night.targets.map(key => site.builds.find(build => build.key === key));
    return {
      title: "Overview",
      node: [
        h("h1", {}, `Night of ${day(night.started)}`),
        h(
          "p",
          {class: "lead"},
          builds.map((build, place) => [place ? ", " : "", link(address(`/builds/${build.key}`), name(build))]),
          ` · ${short(night.tests)} tests in ${duration(night.seconds)} · `,
          night.unfinished
            ? tag(`${night.unfinished} of ${plural(night.runs, "run")} cut short`, "bad")
            : tag(`${plural(night.runs, "complete run")}`, "good"),
        ),
        changed(site, night),
        h(
          "div",
          {class: "columns"},
          section("Open work", waits(site)),
          section(
            `Health of ${plural(site.nights.length, "night")}`,
            health(site),
            h(
              "p",
              {class: "legend small muted"},
              [
                ["good", "complete"],
                ["bad", "cut short"],
                ["grave", "no test"],
              ].map(([look, text]) => h("span", {class: "line"}, h("i", {class: `cell ${look}`}), ` ${text}`)),
            ),
          ),
        ),
        h(
          "div",
          {class: "columns"},
          curves.map(([library, curve]) =>
            section(curves.length > 1 ? `Open bugs over builds: ${library}` : "Open bugs over builds", curve),
          ),
          section("Operators over time", reached(site)),
          section("Outcome classes over time", classes(site)),
          Object.keys(site.cells).length ? section("Sweep of boundary classes", cells(site)) : null,
          section(
            "Where the time of the last night went",
            Object.keys(site.time).length
              ? nightfuzz.bars(
                  "Seconds of work by purpose",
                  Object.entries(site.time).filter(([, seconds]) => seconds >= 1),
                  duration,
                )
              : muted("No time is on record."),
            h(
              "p",
              {class: "small muted"},
              "examining findings" in site.time
                ? "Time of all workers and examiners."
                : "Time of all workers. No examination is on record.",
            ),
          ),
          section("Throughput", speed(site)),
        ),
      ],
    };
  };
})();

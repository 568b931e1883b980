// A page a bug.
"use strict";

(() => {
  const {h, number, day, address, grade, tag, status, code, plain, facts, section, muted, link, words} = nightfuzz;
  const short = version => version.replace(/\+.*/, "");

  const LOOKS = {shown: "grave", flaky: "bad", changed: "bad", clean: "good", unrunnable: "none"};
  const SAYS = {
    shown: "shows it",
    flaky: "shows it in some runs",
    changed: "fails in another way",
    clean: "does not show it",
    unrunnable: "cannot run it",
  };

  function matrix(site, bug, detail) {
    const library = site.build.get(bug.build).library;
    const builds = site.builds.filter(build => build.library === library);
    const tried = builds.filter(build => detail.trials[build.key]);
    const cells = builds.slice(-400).map(build => {
      const trial = detail.trials[build.key];
      const said = trial ? `${SAYS[trial[0]]}, ${trial[1]} of ${trial[2]} runs, ${day(trial[3])}` : "not tried";
      return {
        look: trial ? LOOKS[trial[0]] : "none hollow",
        href: address(`/builds/${build.key}`),
        title: `${build.version}: ${said}`,
      };
    });
    const newest = builds.at(-1);
    const last = tried.at(-1);
    const answer = last
      ? h(
          "p",
          {},
          "Newest tried build: ",
          link(address(`/builds/${last.key}`), last.version),
          " ",
          tag(SAYS[detail.trials[last.key][0]], LOOKS[detail.trials[last.key][0]]),
          last === newest
            ? " This is the newest build on record."
            : [
                " The newest build on record is ",
                link(address(`/builds/${newest.key}`), newest.version),
                "; the bug was not tried there.",
              ],
        )
      : null;
    const modes = Object.entries(detail.modes);
    const seen = modes.filter(([, said]) => said !== "not checked");
    const rows = tried.slice(-8);
    return {
      answer,
      box: section(
        "Builds and modes",
        builds.length > 1 ? nightfuzz.strip("Builds, the oldest first", cells) : null,
        nightfuzz.plainTable(
          "Modes by builds",
          ["Mode", ...rows.map(build => short(build.version))],
          seen.map(([mode, said]) => [
            h(
              "span",
              {title: site.modes[mode] || null},
              h("code", {}, mode),
              site.modes[mode] ? h("span", {class: "muted small"}, ` ${site.modes[mode].replaceAll("`", "")}`) : "",
            ),
            ...rows.map(build => {
              const trial = detail.trials[build.key];
              const own = said === "shows it" ? [SAYS[trial[0]], LOOKS[trial[0]]] : [SAYS.clean, "good"];
              return build.key === bug.build || said === "shows it"
                ? tag(own[0], own[1])
                : h("span", {class: "muted"}, "–");
            }),
          ]),
        ),
        h(
          "p",
          {class: "muted small"},
          `Not checked: ${
            modes
              .filter(([, said]) => said === "not checked")
              .map(([mode]) => mode)
              .join(", ") || "no mode"
          }.`,
        ),
      ),
    };
  }

  function life(site, bug, detail) {
    const rows = [
      [
        "first bad build",
        detail.first_bad
          ? [detail.first_bad, commit(detail.probes.find(probe => probe[0] === detail.first_bad)?.[4])]
          : ["at or before ", buildLink(site, bug.build), commit(site.build.get(bug.build).commit)],
      ],
      [
        "last good build",
        detail.last_good
          ? [detail.last_good, commit(detail.probes.find(probe => probe[0] === detail.last_good)?.[4])]
          : "unknown: no bisection found a good build",
      ],
    ];
    const bad = site.builds.filter(build => ["shown", "flaky"].includes(detail.trials[build.key]?.[0])).at(-1);
    if (bad) rows.push(["last bad build", [buildLink(site, bad.key), commit(bad.commit)]]);
    return section(
      "History",
      facts(rows),
      h(
        "ol",
        {class: "events"},
        detail.events.map(([at, what, build]) =>
          h(
            "li",
            {},
            h("time", {class: "muted"}, at ? day(at) : "–"),
            " ",
            tag(what, what === "fixed" ? "good" : "grave"),
            " on ",
            buildLink(site, build),
          ),
        ),
      ),
      detail.probes.length
        ? [
            h("h3", {}, "Bisection"),
            nightfuzz.plainTable(
              "Builds tried by the bisection",
              ["Version", "Result", "Rate", "Commit"],
              detail.probes.map(([version, said, hits, runs, sha]) => [
                version,
                tag(said, said === "bad" ? "grave" : said === "good" ? "good" : ""),
                `${hits}/${runs}`,
                commit(sha),
              ]),
            ),
          ]
        : null,
    );
  }

  const commit = sha => (sha ? h("code", {class: "muted"}, ` ${sha.slice(0, 12)}`) : "");
  const buildLink = (nightfuzz.buildLink = (site, key) => {
    const build = site.build.get(key);
    return build ? link(address(`/builds/${key}`), build.version) : key;
  });

  // Two scripts, one above the other, with the words that differ marked: all but the longest common subsequence of their tokens.
  function difference(before, after) {
    const cut = text =>
      text
        .split("\n")
        .filter(line => !line.startsWith("import "))
        .join("\n")
        .trim()
        .match(/-?\d[\d.]*(?:e[-+]?\d+)?|\w+|\s+|[^\w\s]/g) || [];
    const a = cut(before),
      b = cut(after);
    if (a.length * b.length > 1e6) return null;
    const table = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    const parts = [];
    let i = 0,
      j = 0;
    const add = (kind, text) => {
      const last = parts.at(-1);
      if (last && last[0] === kind) last[1] += text;
      else parts.push([kind, text]);
    };
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) {
        add("same", a[i]);
        i++;
        j++;
      } else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) add("del", a[i++]);
      else add("ins", b[j++]);
    }
    // Signs between two changes belong to both.
    parts.forEach((part, place) => {
      if (part[0] === "same" && /^[\s,.()[\]]{1,3}$/.test(part[1]) && place && place < parts.length - 1)
        part[0] = "both";
    });
    const shown = (kind, label) =>
      h(
        "pre",
        {class: "output diff", tabindex: "0", role: "region", "aria-label": label},
        parts
          .filter(([own]) => ["same", "both", kind].includes(own))
          .map(([own, text]) => (own === "same" ? text : h(kind, {}, text))),
      );
    return [
      h("h3", {}, "The recorded call"),
      shown("del", "The recorded call"),
      h("h3", {}, "The call of this bug"),
      shown("ins", "The call of this bug"),
    ];
  }

  const picture = (svg, alt) =>
    h("img", {class: "picture", alt, src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`});

  function origin(detail) {
    if (!detail.traced)
      return detail.origin ? section("Source of the bug", h("p", {}, `The model program ${detail.origin}.`)) : null;
    const marked = difference(detail.traced, detail.minimal);
    return section(
      "From the recorded call to the bug",
      muted(`Mutation rules that changed the call: ${detail.rules.join(", ")}. Triage then minimised the call.`),
      marked || plain(detail.traced, "The recorded call"),
    );
  }

  nightfuzz.bugPage = async (site, id) => {
    const bug = site.bugs.find(each => each.id === id);
    if (!bug)
      return nightfuzz.missing(
        `Bug ${id} is not here`,
        "The bug does not exist, is private, or has the number of another bug now.",
      );
    const detail = (await nightfuzz.part(`bugs-${Math.floor(id / 100)}`))[id];
    const members = site.members.get(bug.cluster).filter(other => other !== bug);
    const {answer, box} = matrix(site, bug, detail);
    return {
      title: `Bug ${id}: ${bug.said}`,
      node: [
        h("p", {class: "trail"}, link("#/bugs", "Bugs"), ` / ${id}`),
        h("h1", {class: "said"}, bug.said),
        h("p", {class: "call lead"}, h("code", {}, bug.call)),
        h(
          "p",
          {class: "tags"},
          grade(bug.grade),
          tag(`${bug.validity} input`, bug.validity === "valid" ? "plain" : ""),
          status(bug),
          bug.issue ? h("a", {class: "tag plain", href: bug.issue, rel: "noreferrer"}, "issue ↗") : "",
        ),
        answer,
        h(
          "div",
          {class: "columns wideleft"},
          h(
            "div",
            {},
            section(
              "Minimal script",
              code(detail.script, "Minimal script"),
              detail.one_line
                ? h("details", {}, h("summary", {}, "As one line"), code(detail.one_line, "One line"))
                : null,
            ),
            section(
              "Observed and expected",
              h("h3", {}, "Observed"),
              plain(detail.observed, "Observed"),
              h("h3", {}, "Expected"),
              h("p", {}, detail.expected),
              detail.blame ? h("p", {class: "note"}, detail.blame) : null,
            ),
            detail.picture
              ? section(
                  "The model",
                  picture(detail.picture, "Graph of the model: data above, operators below"),
                )
              : null,
            box,
            detail.tree
              ? section(
                  "From the seed program to this bug",
                  muted("Each row changes one block of the program above. Dots: other programs that were tried."),
                  picture(detail.tree, "Path of the derivation tree: each row changes one block of the program"),
                )
              : null,
            origin(detail),
            detail.frames.length ? section("Native frames", plain(detail.frames.join("\n"), "Native frames")) : null,
          ),
          h(
            "div",
            {},
            section(
              "Facts",
              facts([
                ["api", link(address(`/apis/${bug.api}`), bug.api)],
                [
                  "kind",
                  [h("span", {}, words(bug.kind)), h("div", {class: "muted small"}, site.kinds[bug.kind] || "")],
                ],
                ["input", [bug.validity, h("div", {class: "muted small"}, detail.reason)]],
                ["reproduced", `${bug.hits} of ${bug.runs} runs`],
                ["findings", number(bug.findings)],
                ["found", [day(bug.found), " on ", buildLink(site, bug.build)]],
                ["engine", bug.engine],
                ["rules", detail.rules.join(", ")],
                ["script", detail.minimised ? "minimised" : "not minimised"],
                ["known as", detail.entry],
                ["judgement", bug.verdict ? [words(bug.verdict), h("div", {class: "muted small"}, detail.judged)] : ""],
              ]),
            ),
            life(site, bug, detail),
            section(
              `Same cause (${members.length})`,
              members.length
                ? h(
                    "ul",
                    {class: "plainlist"},
                    members
                      .slice(0, 40)
                      .map(other =>
                        h(
                          "li",
                          {},
                          link(address(`/bugs/${other.id}`), `${other.id} ${other.api}`),
                          h("span", {class: "muted small"}, ` ${other.said}`),
                        ),
                      ),
                  )
                : muted("No other bug."),
            ),
            section(
              "Not checked",
              h(
                "ul",
                {class: "small"},
                detail.unchecked.map(each => h("li", {}, each)),
              ),
            ),
          ),
        ),
      ],
    };
  };
})();

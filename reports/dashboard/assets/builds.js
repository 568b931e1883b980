// Builds, engines and rules, and judgements.
"use strict";

(() => {
  const {h, number, plural, duration, day, address, tag, facts, section, muted, link, words, grade} = nightfuzz;
  const rate = build => (build.seconds ? build.tests / build.seconds : 0);
  const commit = sha => (sha ? h("code", {class: "muted"}, sha.slice(0, 12)) : "–");

  nightfuzz.buildList = site => {
    const rows = site.builds.map((build, order) => ({...build, order})).reverse();
    const fuzzed = site.builds.filter(build => build.seconds);
    return {
      title: "Builds",
      node: [
        h("h1", {}, "Builds"),
        h("p", {class: "lead"}, `${plural(rows.length, "build")}, the newest first.`),
        fuzzed.length > 2
          ? section(
              "Tests per second by build",
              nightfuzz.lines(
                "Tests per second by build",
                fuzzed.map((build, place) => ({...build, place})),
                build => build.place,
                {"tests per second": rate},
                {
                  names: fuzzed.map(build => nightfuzz.briefly(build.version)),
                  told: build => `${build.version} (${build.date})`,
                },
              ),
            )
          : null,
        nightfuzz.table({
          rows,
          noun: "build",
          caption: "Builds, the newest first",
          sort: "",
          text: build => `${build.library} ${build.version} ${build.commit} ${build.date}`,
          columns: [
            {
              key: "version",
              label: "Build",
              look: "main",
              value: build => build.order,
              cell: build => [
                link(address(`/builds/${build.key}`), `${build.library} ${build.version}`),
                h("div", {class: "muted small"}, commit(build.commit)),
              ],
            },
            {key: "date", label: "Date", value: build => build.date, cell: build => day(build.date)},
            {
              key: "new",
              label: "New",
              number: true,
              value: build => build.new.length,
              cell: build =>
                build.new.length ? link(address("/bugs", {build: build.key, all: "yes"}), build.new.length) : "0",
            },
            {key: "fixed", label: "Fixed", number: true, value: build => build.fixed.length},
            {key: "back", label: "Back", number: true, value: build => build.back.length},
            {key: "open", label: "Open after", number: true, value: build => build.open},
            {
              key: "apis",
              label: "Apis",
              number: true,
              wide: true,
              value: build => build.apis,
              cell: build => number(build.apis),
            },
            {
              key: "tests",
              label: "Tests",
              number: true,
              wide: true,
              value: build => build.tests,
              cell: build => number(build.tests),
            },
            {
              key: "rate",
              label: "Per second",
              number: true,
              wide: true,
              value: rate,
              cell: build => number(Math.round(rate(build))),
            },
          ],
          facets: [{key: "library", label: "Library", value: build => build.library}],
        }),
      ],
    };
  };

  nightfuzz.buildPage = (site, key) => {
    const build = site.build.get(key);
    if (!build) return nightfuzz.missing("This build is not here", "The state has no build with this key.");
    const list = (title, numbers, none) =>
      section(
        `${title} (${numbers.length})`,
        numbers.length
          ? h(
              "ol",
              {class: "bugs"},
              site.bugs
                .filter(bug => numbers.includes(bug.id))
                .slice(0, 100)
                .map(bug =>
                  h(
                    "li",
                    {},
                    grade(bug.grade),
                    h(
                      "div",
                      {},
                      link(address(`/bugs/${bug.id}`), bug.said),
                      h("div", {class: "call"}, h("code", {}, bug.call)),
                    ),
                  ),
                ),
            )
          : muted(none),
      );
    const before = site.builds
      .filter(
        other =>
          other.library === build.library && other.seconds && site.builds.indexOf(other) < site.builds.indexOf(build),
      )
      .at(-1);
    const speed = rate(build)
      ? `${number(Math.round(rate(build)))} tests per second${before ? `, ${number(Math.round(rate(before)))} on ${before.version}` : ""}`
      : "not fuzzed";
    const kinds = Object.entries(build.api_changes)
      .map(([kind, count]) => `${number(count)} ${kind}`)
      .join(", ");
    return {
      title: `${build.library} ${build.version}`,
      node: [
        h("p", {class: "trail"}, link("#/builds", "Builds"), ` / ${build.version}`),
        h("h1", {}, `${build.library} ${build.version}`),
        h(
          "p",
          {class: "lead"},
          `${plural(build.new.length, "new bug")}, ${number(build.fixed.length)} fixed, ${number(build.back.length)} back.`,
        ),
        h(
          "div",
          {class: "columns"},
          section(
            "Facts",
            facts([
              ["date", day(build.date)],
              ["commit", build.commit ? h("code", {class: "wrap"}, build.commit) : ""],
              ["apis", number(build.apis)],
              ["runs", number(build.runs)],
              ["fuzzed", duration(build.seconds)],
              ["tests", number(build.tests)],
              ["speed", speed],
              ["open bugs after this build", number(build.open)],
            ]),
          ),
          section(
            "Apis",
            build.since
              ? [
                  h("p", {}, `Since `, nightfuzz.buildLink(site, build.since), `: ${kinds || "no change"}.`),
                  build.changes.length
                    ? nightfuzz.plainTable(
                        "Changes of apis",
                        ["Api", "Change", "Before", "After"],
                        build.changes.map(change => [
                          h("code", {class: "wrap"}, change.api),
                          change.kind,
                          h("code", {class: "wrap small"}, change.before),
                          h("code", {class: "wrap small"}, change.after),
                        ]),
                      )
                    : null,
                ]
              : muted("No earlier build with apis is on record, or this build is not among the ten newest."),
          ),
        ),
        list("New bugs", build.new, "No bug was first found in this build."),
        h(
          "div",
          {class: "columns"},
          list("Fixed", build.fixed, "No bug was first fixed in this build."),
          list("Back", build.back, "No fixed bug came back in this build."),
        ),
        section(
          `Changes of results (${build.results.length})`,
          build.results.length
            ? nightfuzz.plainTable(
                "Changes of results",
                ["Api", "Kind", "Change"],
                build.results.map(change => [
                  h("code", {}, change.api),
                  tag(change.kind, change.kind === "regression" ? "grave" : ""),
                  change.what,
                ]),
              )
            : muted("No comparison with a baseline found a changed result."),
        ),
      ],
    };
  };

  const settled = each => each.confirmed + each.flaky + each.rejected;

  nightfuzz.engineList = site => {
    const yields = kind => site.yields.filter(each => each.group === kind);
    const table = (title, kind, noun, href) =>
      section(
        title,
        nightfuzz.table({
          rows: yields(kind),
          noun,
          caption: title,
          sort: "-bugs",
          columns: [
            {
              key: "name",
              label: title,
              look: "main",
              value: each => each.name,
              cell: each => (href ? link(href(each), words(each.name)) : each.name),
            },
            {key: "bugs", label: "Bugs", number: true, value: each => each.bugs},
            {
              key: "confirmed",
              label: "Confirmed findings",
              number: true,
              value: each => each.confirmed,
              cell: each => number(each.confirmed),
            },
            {
              key: "share",
              label: "Confirmed",
              number: true,
              value: each => (settled(each) ? each.confirmed / settled(each) : 0),
              cell: each => (settled(each) ? nightfuzz.percent(each.confirmed / settled(each)) : "–"),
            },
            {key: "flaky", label: "Flaky", number: true, wide: true, value: each => each.flaky},
            {key: "rejected", label: "Rejected", number: true, wide: true, value: each => each.rejected},
          ],
        }),
      );
    return {
      title: "Engines and rules",
      node: [
        h("h1", {}, "Engines and rules"),
        h("p", {class: "lead"}, "The bugs, time and tests of each engine, verdict and mutation rule."),
        section(
          "Engines",
          site.engines.length
            ? nightfuzz.plainTable(
                "Engines",
                ["Engine", "Runs", "Time", "Tests", "Findings", "Bugs", "Causes", "Time per cause"],
                site.engines.map(engine => [
                  link(address("/bugs", {engine: engine.name}), engine.name),
                  number(engine.runs),
                  duration(engine.seconds),
                  number(engine.tests),
                  number(engine.findings),
                  number(engine.bugs),
                  number(engine.clusters),
                  engine.clusters ? duration(engine.seconds / engine.clusters) : "–",
                ]),
                [1, 2, 3, 4, 5, 6, 7],
              )
            : muted("No run is on record."),
        ),
        table("Kinds of verdicts", "verdict", "kind", each => address("/bugs", {kind: each.name})),
        table("Mutation rules", "rule", "rule", null),
      ],
    };
  };

  nightfuzz.judgementList = site => {
    const bugs = new Map(site.bugs.map(bug => [bug.id, bug]));
    const rows = [];
    const seen = new Set();
    for (const each of [...site.judgements].sort((a, b) => (a.at < b.at ? -1 : 1))) {
      const bug = bugs.get(each.bug);
      if (!bug || seen.has(bug.cluster)) continue;
      seen.add(bug.cluster);
      const real = rows.length ? rows.at(-1).real : 0;
      rows.push({...each, bug, order: rows.length + 1, real: real + (each.verdict === "not-real" ? 0 : 1)});
    }
    const precision = group => {
      const counts = d3.rollups(
        rows,
        own => [own.length, own.filter(row => row.verdict !== "not-real").length],
        row => row.bug[group],
      );
      return nightfuzz.plainTable(
        `Precision by ${group}`,
        [group, "Judged", "Real", "Share"],
        counts.map(([name, [judged, real]]) => [
          words(name),
          number(judged),
          number(real),
          nightfuzz.percent(real / judged),
        ]),
        [1, 2, 3],
      );
    };
    const clusters = new Set(site.bugs.map(bug => bug.cluster)).size;
    return {
      title: "Judgements",
      node: [
        h("h1", {}, "Judgements"),
        h(
          "p",
          {class: "lead"},
          rows.length
            ? `${number(rows.at(-1).real)} of ${plural(rows.length, "judged cause")} are real bugs: ${nightfuzz.percent(rows.at(-1).real / rows.length)}. ${number(clusters - rows.length)} causes wait for a judgement.`
            : `No person has judged any of ${plural(clusters, "cause")}. Judge the causes with \`nightfuzz judge\`.`,
        ),
        rows.length > 2
          ? section(
              "Precision over time",
              nightfuzz.lines(
                "Share of real bugs among judged causes, over time",
                rows,
                row => new Date(row.at),
                {"share of real bugs": row => row.real / row.order},
                {y: {domain: [0, 1], tickFormat: "%"}, told: row => day(row.at)},
              ),
            )
          : null,
        rows.length
          ? h(
              "div",
              {class: "columns"},
              section("By kind", precision("kind")),
              section("By engine", precision("engine")),
            )
          : null,
        rows.length
          ? nightfuzz.table({
              rows,
              noun: "judgement",
              caption: "Judgements",
              sort: "-at",
              text: row => `${row.bug.title} ${row.verdict} ${row.reason}`,
              columns: [
                {
                  key: "bug",
                  label: "Bug",
                  number: true,
                  value: row => row.bug.id,
                  cell: row => link(address(`/bugs/${row.bug.id}`), row.bug.id),
                },
                {
                  key: "said",
                  label: "What happens",
                  look: "main",
                  value: row => row.bug.said,
                  cell: row => [
                    link(address(`/bugs/${row.bug.id}`), row.bug.said),
                    h("div", {class: "muted small"}, row.reason),
                  ],
                },
                {
                  key: "verdict",
                  label: "Verdict",
                  value: row => row.verdict,
                  cell: row => tag(words(row.verdict), row.verdict === "real" ? "good" : ""),
                },
                {key: "at", label: "Day", value: row => row.at, wide: true, cell: row => day(row.at)},
              ],
              facets: [
                {key: "verdict", label: "Verdict", value: row => row.verdict},
                {key: "kind", label: "Kind", value: row => row.bug.kind},
              ],
            })
          : null,
      ],
    };
  };
})();

// The map and the list of apis, and a page an api.
"use strict";

(() => {
  const {h, number, short, percent, plural, address, place, grade, tag, code, facts, section, muted, link} = nightfuzz;
  const STATES = ["tested", "not fuzzed yet", "no valid seed", "argument not describable", "dropped", "not traced"];
  const STATE_COLOURS = [
    "var(--map-2)",
    "var(--map-1)",
    "var(--amber)",
    "var(--orange)",
    "var(--brown)",
    "var(--missing)",
  ];
  const WHY = {
    "not fuzzed yet": "a valid call is on record, but no run has tested the api",
    "no valid seed": "each recorded call fails when it runs again",
    "argument not describable": "nightfuzz cannot describe the type of an argument",
    dropped: "the calls were too large or too many",
    "not traced": "no documentation, test or program calls the api",
  };
  const module = name => name.split(".").slice(0, -1).join(".") || name;
  // The first two parts of a name; deeper modules are shown when one is chosen.
  const group = (name, depth) => module(name).split(".").slice(0, depth).join(".");

  const SCALES = {
    coverage: {label: "Coverage"},
    bugs: {label: "Bugs", value: api => api.bugs.length, words: value => plural(value, "bug")},
    classes: {
      label: "Outcome classes",
      value: api => api.classes,
      words: value => plural(value, "outcome class", "outcome classes"),
    },
    cost: {
      label: "Time per test",
      value: api => api.cost,
      words: value => (value ? `${short(value)} µs per test` : "no test"),
    },
    unreachable: cells("Cells not reachable", api => api.unreachable, "not reachable in this build"),
    untried: cells("Cells not tried", api => api.cells - api.tried - api.unreachable, "not tried yet"),
  };

  // A scale of the share of an api's cells, the boundary classes of its arguments.
  function cells(label, count, told) {
    return {
      label,
      value: api => (api.cells ? count(api) / api.cells : 0),
      lacks: api => !api.cells,
      words: (value, api) =>
        api.cells ? `${number(count(api))} of ${plural(api.cells, "cell")} ${told} (${percent(value)})` : "no sweep yet",
    };
  }
  // The colour of zero. Beside apis without a sweep, an api without such a cell is no gap.
  const none = scale => (SCALES[scale].lacks ? "var(--map-1)" : "var(--map-0)");
  const WARM = ["bugs", "unreachable", "untried"];

  function colours(scale, apis) {
    if (scale === "coverage") return api => STATE_COLOURS[STATES.indexOf(api.state)];
    const {value, lacks} = SCALES[scale];
    const values = [...new Set(apis.map(value).filter(Boolean))].sort((a, b) => a - b);
    const steps = [0.25, 0.5, 0.75].map(share => values[Math.floor(values.length * share)] ?? Infinity);
    const ramp =
      WARM.includes(scale)
        ? ["var(--heat-1)", "var(--heat-2)", "var(--heat-3)", "var(--heat-4)"]
        : ["var(--map-1)", "var(--map-2)", "var(--map-3)", "var(--map-4)"];
    return api =>
      lacks?.(api)
        ? "var(--missing)"
        : value(api)
          ? ramp[steps.filter(step => value(api) >= step).length]
          : none(scale);
  }

  function legend(scale) {
    if (scale !== "coverage")
      return h(
        "p",
        {class: "legend small muted"},
        h("i", {class: "cell", style: `background:${none(scale)}`}),
        " none ",
        SCALES[scale].lacks ? [h("i", {class: "cell", style: "background:var(--missing)"}), " no sweep yet "] : null,
        (WARM.includes(scale) ? ["heat-1", "heat-2", "heat-3", "heat-4"] : ["map-1", "map-2", "map-3", "map-4"]).map(name =>
          h("i", {class: "cell", style: `background:var(--${name})`}),
        ),
        " few to many",
      );
    return h(
      "p",
      {class: "legend small muted"},
      STATES.map((state, place) => [
        h("span", {class: "line"}, h("i", {class: "cell", style: `background:${STATE_COLOURS[place]}`}), ` ${state}`),
        " ",
      ]),
    );
  }

  nightfuzz.apiList = (site, query) => {
    const libraries = [...new Set(site.apis.map(api => api.library))];
    const library = libraries.includes(query.library) ? query.library : libraries[0];
    const scale = query.colour in SCALES ? query.colour : "coverage";
    const inside = api => !query.module || api.name.startsWith(`${query.module}.`);
    const own = site.apis.filter(api => api.library === library);
    const apis = own.filter(inside);
    const depth = query.module ? query.module.split(".").length + 1 : 2;
    const shown = apis.map(api => ({...api, group: group(api.name, depth)}));
    const go = more => {
      location.hash = address("/apis", {...place().query, q: "", ...more});
    };
    const choice = (label, key, value, values, told = each => each) => {
      const select = h(
        "select",
        {"aria-label": label, onchange: () => go({[key]: select.value, ...(key === "library" ? {module: ""} : {})})},
        values.map(each => h("option", {value: each, selected: each === value}, told(each))),
      );
      return h("label", {class: "choice"}, `${label} `, select);
    };
    const modules = d3
      .groups(own, api => group(api.name, 2))
      .map(([name, members]) => [name, members])
      .sort((a, b) => b[1].length - a[1].length);
    const tested = apis.filter(api => api.state === "tested").length;
    const swept = apis.filter(api => api.cells);
    const count = key => number(d3.sum(swept, api => api[key]));
    const lead = SCALES[scale].lacks
      ? `${count("tried")} of ${count("cells")} cells tried in ${plural(swept.length, "api")}, ${count("unreachable")} not reachable. A cell is a boundary class of an argument.`
      : `${number(tested)} of ${plural(apis.length, "api")} tested in the newest build.`;
    const trail = query.module
      ? [link(address("/apis", {library, colour: query.colour}), "All modules"), " / ", query.module]
      : null;
    return {
      title: query.module ? `Apis of ${query.module}` : "Apis",
      node: [
        trail ? h("p", {class: "trail"}, trail) : null,
        h(
          "div",
          {class: "head"},
          h("h1", {}, query.module || "Apis"),
          h(
            "div",
            {class: "choices"},
            libraries.length > 1 ? choice("Library", "library", library, libraries) : null,
            choice("Colour", "colour", scale, Object.keys(SCALES), each => SCALES[each].label),
          ),
        ),
        h("p", {class: "lead"}, lead),
        apis.length
          ? nightfuzz.treemap(`Map of ${apis.length} apis by module; ${tested} are tested`, shown, {
              colour: colours(scale, own),
              told: api =>
                scale === "coverage"
                  ? `${api.state}${api.why ? `: ${api.why}` : ""}`
                  : SCALES[scale].words(SCALES[scale].value(api), api),
              open: api => {
                location.hash = address(`/apis/${api.name}`);
              },
              group: name => {
                if (name !== query.module) go({module: name});
              },
            })
          : muted("No api is on record."),
        legend(scale),
        query.module
          ? null
          : h(
              "details",
              {class: "modules"},
              h("summary", {}, `${plural(modules.length, "module")} as a list`),
              h(
                "ul",
                {class: "plainlist many"},
                modules.map(([name, members]) =>
                  h(
                    "li",
                    {},
                    link(address("/apis", {...query, module: name}), name),
                    h(
                      "span",
                      {class: "muted small"},
                      ` ${members.filter(api => api.state === "tested").length} of ${members.length} tested`,
                    ),
                  ),
                ),
              ),
            ),
        nightfuzz.table({
          rows: apis,
          noun: "api",
          caption: "Apis with their coverage",
          sort: "name",
          text: api => `${api.name} ${api.state} ${api.why}`,
          columns: [
            {
              key: "name",
              label: "Api",
              look: "main",
              value: api => api.name,
              cell: api => link(address(`/apis/${api.name}`), api.name),
            },
            {
              key: "state",
              label: "State",
              value: api => STATES.indexOf(api.state),
              cell: api => [
                tag(api.state, api.state === "tested" ? "good" : "bad"),
                api.why ? h("div", {class: "muted small"}, api.why) : null,
              ],
            },
            {
              key: "valid",
              label: "Valid calls",
              number: true,
              wide: true,
              value: api => api.valid,
              cell: api => number(api.valid),
            },
            {
              key: "classes",
              label: "Outcome classes",
              number: true,
              wide: true,
              value: api => api.classes,
              cell: api => number(api.classes),
            },
            {
              key: "cells",
              label: "Cells tried",
              number: true,
              wide: true,
              value: api => api.tried,
              cell: api => (api.cells ? `${number(api.tried)} of ${number(api.cells)}` : "–"),
            },
            {
              key: "cost",
              label: "µs per test",
              number: true,
              wide: true,
              value: api => api.cost,
              cell: api => (api.cost ? number(Math.round(api.cost)) : "–"),
            },
            {
              key: "bugs",
              label: "Bugs",
              number: true,
              value: api => api.bugs.length,
              cell: api =>
                api.bugs.length
                  ? link(address("/bugs", {api: api.name, all: "yes"}), api.bugs.length)
                  : h("span", {class: "muted"}, "0"),
            },
          ],
          facets: [
            {
              key: "state",
              label: "State",
              value: api => api.state,
              order: (a, b) => STATES.indexOf(a) - STATES.indexOf(b),
              words: value => value,
            },
            {key: "tested", label: "Tested", value: api => (api.state === "tested" ? "yes" : "no"), hidden: true},
            {key: "kind", label: "Kind", value: api => api.kind},
          ],
        }),
      ],
    };
  };

  const RESULTS = {
    valid: "good",
    refused: "",
    hung: "bad",
    "out-of-memory": "bad",
    exited: "bad",
    unreachable: "bad",
    postponed: "bad",
  };

  // Names of boundary classes by their rule: `Boundary Integer: -1, 0`.
  function classes(names) {
    const parted = names.map(name => name.match(/^((?:[A-Z][A-Za-z]* ?)+(?:for \w+)?)(.*)$/)?.slice(1) || [name, ""]);
    return d3.groups(parted, ([rule]) => rule.trim()).map(([rule, members]) => {
      const choices = members.map(([, choice]) => choice.trim()).filter(Boolean);
      return h("div", {class: "small"}, rule, choices.length ? h("span", {class: "muted"}, `: ${choices.join(", ")}`) : "");
    });
  }

  function sweep(site, api, detail) {
    if (!api.cells) return muted("The sweep has not reached this api yet.");
    const left = api.cells - d3.sum(detail.cells, ([, , , places]) => places.length);
    return [
      h(
        "p",
        {},
        `${number(api.tried)} of ${plural(api.cells, "cell")} tried`,
        api.unreachable ? `, ${number(api.unreachable)} not reachable in this build` : "",
        left ? `, ${number(left)} without a result here: not tried yet, or the call crashed` : "",
        ".",
      ),
      nightfuzz.plainTable(
        "Boundary classes of each argument by their result",
        ["Argument", "Result", "Cells", "Classes"],
        detail.cells.map(([argument, result, reason, places]) => [
          argument ? h("code", {}, argument) : h("span", {class: "muted"}, "the whole call"),
          [tag(result, RESULTS[result]), reason ? h("div", {class: "muted small"}, reason) : ""],
          number(places.length),
          classes(places.map(place => site.classes[place])),
        ]),
        [2],
      ),
    ];
  }

  nightfuzz.apiPage = async (site, name) => {
    const order = site.apis.findIndex(api => api.name === name);
    if (order < 0) return nightfuzz.missing(`${name} is not here`, "The newest build has no api of this name.");
    const api = site.apis[order];
    const detail = (await nightfuzz.part(`apis-${Math.floor(order / 50)}`))[name];
    const bugs = site.bugs.filter(bug => api.bugs.includes(bug.id));
    const gaps = [...Object.entries(detail.undescribed), ...Object.entries(detail.dropped)];
    return {
      title: name,
      node: [
        h(
          "p",
          {class: "trail"},
          link("#/apis", "Apis"),
          " / ",
          link(address("/apis", {library: api.library, module: group(name, 2)}), group(name, 2)),
          ` / ${name.split(".").at(-1)}`,
        ),
        h("h1", {class: "mono"}, name),
        detail.definition ? h("p", {class: "call lead"}, h("code", {}, detail.definition)) : null,
        h(
          "p",
          {class: "tags"},
          tag(api.state, api.state === "tested" ? "good" : "bad"),
          WHY[api.state] ? h("span", {class: "muted"}, WHY[api.state]) : "",
        ),
        h(
          "div",
          {class: "columns"},
          section(
            "Coverage",
            facts([
              ["recorded calls", `${number(api.invocations)}, ${number(api.valid)} of them valid`],
              ["seeds", number(api.seeds)],
              ["time per test", api.cost ? `${number(Math.round(api.cost))} µs` : "no test"],
              ["kind", api.kind],
              ["aliases", detail.aliases.join(", ")],
            ]),
            gaps.length
              ? [
                  h("h3", {}, "Not recorded"),
                  nightfuzz.plainTable(
                    "Reasons why calls were not recorded",
                    ["Reason", "Calls"],
                    gaps.map(([why, count]) => [why, number(count)]),
                    [1],
                  ),
                ]
              : null,
          ),
          section(
            "Outcomes",
            api.classes
              ? nightfuzz.bars(
                  "Outcome classes by kind",
                  Object.entries(detail.outcomes).sort((a, b) => b[1] - a[1]),
                )
              : muted("No outcome is on record."),
            api.classes
              ? h("p", {class: "small muted"}, "Number of outcome classes by the kind of the outcome.")
              : null,
          ),
        ),
        section(
          `Bugs (${bugs.length})`,
          bugs.length
            ? h(
                "ol",
                {class: "bugs"},
                bugs
                  .slice(0, 50)
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
            : muted("No public bug."),
        ),
        h(
          "div",
          {class: "columns"},
          section(
            "Value space",
            detail.space.length
              ? nightfuzz.plainTable(
                  "Values on record by argument and type",
                  ["Argument", "Type", "Values"],
                  detail.space.map(([argument, type, count]) => [
                    h("code", {}, argument),
                    h("code", {class: "wrap"}, type),
                    number(count),
                  ]),
                  [2],
                )
              : muted("No value is on record."),
          ),
          section(
            "Constraints",
            detail.constraints.length
              ? nightfuzz.plainTable(
                  "Documented constraints",
                  ["Argument", "Kind", "Text", "Source"],
                  detail.constraints.map(([argument, kind, text, source]) => [
                    h("code", {}, argument),
                    kind,
                    text,
                    source,
                  ]),
                )
              : muted("No documented constraint is on record."),
          ),
        ),
        section("Boundary classes of its arguments", sweep(site, api, detail)),
        detail.calls.length
          ? section(
              "Recorded valid calls",
              detail.calls.map(call => code(call, "Recorded call")),
            )
          : null,
        detail.operators.length
          ? section(
              `Operators that this api reached first (${detail.operators.length})`,
              h("p", {class: "mono small"}, detail.operators.join(", ")),
            )
          : null,
      ],
    };
  };
})();

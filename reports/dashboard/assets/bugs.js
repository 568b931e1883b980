// The list of bugs: a line for each cause, or for each bug.
"use strict";

(() => {
  const {h, number, day, address, grade, status, link, words, GRADES} = nightfuzz;
  const ORDER = Object.keys(GRADES);
  const STATUSES = ["open", "known", "fixed"];
  const short = version => version.replace(/\+.*/, "");

  // One row for each cause: the simplest bug stands for it, the most urgent one gives severity and status.
  function causes(site) {
    return [...site.members].map(([number, members]) => ({
      bug: members.find(bug => bug.id === number) || members[0],
      urgent: members.find(bug => bug.status === "open") || members[0],
      members,
    }));
  }

  nightfuzz.bugList = (site, query) => {
    const all = query.all === "yes";
    const rows = all ? site.bugs.map(bug => ({bug, urgent: bug, members: [bug]})) : causes(site);
    // Open bugs first; within a status the order of urgency stays.
    rows.sort((a, b) => STATUSES.indexOf(a.urgent.status) - STATUSES.indexOf(b.urgent.status));
    const place = new Map(site.bugs.map((bug, order) => [bug.id, order]));
    const nights = new Map(site.nights.map(night => [nightfuzz.nightKey(night), night]));
    const among = name => row =>
      [...nights].filter(([, night]) => row.members.some(bug => night[name].includes(bug.id))).map(([key]) => key);
    const cached = pick => {
      const kept = new Map();
      return row => {
        if (!kept.has(row)) kept.set(row, pick(row));
        return kept.get(row);
      };
    };
    const member = pick => row => [...new Set(row.members.map(pick))];
    const night = key => day(key);
    const toggle = h(
      "a",
      {class: "chip", href: address("/bugs", {...query, all: all ? "" : "yes"})},
      all ? "One line per cause" : "Every bug",
    );
    return {
      title: "Bugs",
      node: [
        h("div", {class: "head"}, h("h1", {}, "Bugs"), toggle),
        nightfuzz.table({
          rows,
          noun: all ? "bug" : "cause",
          caption: "Bugs, the most urgent first",
          sort: "",
          text: row => row.members.map(bug => `${bug.id} ${bug.title} ${bug.api} ${bug.kind} ${bug.engine}`).join(" "),
          columns: [
            {
              key: "id",
              label: "Bug",
              number: true,
              value: row => row.bug.id,
              cell: row => [
                link(address(`/bugs/${row.bug.id}`), row.bug.id),
                row.members.length > 1 ? h("span", {class: "muted small"}, ` +${row.members.length - 1}`) : "",
              ],
            },
            {
              key: "said",
              label: "What happens",
              look: "main",
              value: row => row.bug.said,
              cell: row => [
                link(address(`/bugs/${row.bug.id}`), row.bug.said),
                h("div", {class: "call"}, h("code", {}, row.bug.call)),
                h("div", {class: "narrow tags"}, grade(row.urgent.grade), status(row.urgent)),
              ],
            },
            {
              key: "grade",
              label: "Severity",
              wide: true,
              value: row => ORDER.indexOf(row.urgent.grade) * 1e6 + place.get(row.urgent.id),
              cell: row => grade(row.urgent.grade),
            },
            {key: "input", label: "Input", value: row => row.urgent.validity, wide: true},
            {
              key: "since",
              label: "Since",
              value: row => row.bug.since || row.bug.found,
              wide: true,
              look: "line",
              cell: row => row.bug.since || `≤ ${short(site.build.get(row.bug.build).version)}`,
            },
            {
              key: "rate",
              label: "Rate",
              number: true,
              wide: true,
              value: row => row.bug.hits / Math.max(row.bug.runs, 1),
              cell: row => `${row.bug.hits}/${row.bug.runs}`,
            },
            {
              key: "status",
              label: "Status",
              wide: true,
              value: row => row.urgent.status,
              cell: row => status(row.urgent),
            },
          ],
          facets: [
            {key: "status", label: "Status", value: row => row.urgent.status},
            {
              key: "grade",
              label: "Severity",
              wide: true,
              value: row => row.urgent.grade,
              order: (a, b) => ORDER.indexOf(a) - ORDER.indexOf(b),
            },
            {key: "input", label: "Input", value: row => row.urgent.validity},
            {key: "library", label: "Library", value: member(bug => site.build.get(bug.build).library)},
            {
              key: "judged",
              label: "Judged",
              value: row =>
                row.members.some(bug => bug.verdict) ? row.members.find(bug => bug.verdict).verdict : "no",
              words: value => (value === "no" ? "not yet" : words(value)),
            },
            {key: "alone", label: "Worth an issue", value: row => (row.members.some(bug => bug.alone) ? "yes" : "no")},
            {key: "night", label: "New in the night of", value: cached(among("new")), words: night, hidden: true},
            {key: "back", label: "Back in the night of", value: cached(among("back")), words: night, hidden: true},
            {key: "fixed", label: "Fixed in the night of", value: cached(among("fixed")), words: night, hidden: true},
            {
              key: "build",
              label: "Found on",
              value: member(bug => bug.build),
              words: key => site.build.get(key)?.version ?? key,
              hidden: true,
            },
            {key: "engine", label: "Engine", value: member(bug => bug.engine), words: value => value, hidden: true},
            {key: "kind", label: "Kind", value: member(bug => bug.kind), hidden: true},
            {key: "api", label: "Api", value: member(bug => bug.api), words: value => value, hidden: true},
          ],
        }),
      ],
    };
  };
})();

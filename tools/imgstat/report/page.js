"use strict";
// The table of the page, sorted and filtered; flags by thresholds that can be changed.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const body = byId("image-table").tBodies[0];
  const bytesOf = (text) => {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i); // Uint8Array.from is far slower
    return bytes;
  };

  // A column is one value, places in a list of values, or a float or double for each image.
  const columnOf = (packed) => {
    if ("all" in packed) return new Float64Array(data.n).fill(packed.all ?? NaN);
    if ("list" in packed) {
      const list = Float64Array.from(packed.list, (value) => value ?? NaN), values = new Float64Array(data.n);
      bytesOf(packed.places).forEach((place, i) => { values[i] = list[place]; });
      return values;
    }
    return "floats" in packed ? new Float32Array(bytesOf(packed.floats).buffer) : new Float64Array(bytesOf(packed.doubles).buffer);
  };
  const columns = {};
  for (const [name, packed] of Object.entries(data.columns)) columns[name] = columnOf(packed);
  const form = new Uint32Array(bytesOf(data.form).buffer);

  // Each name begins with the number of ASCII characters that it shares with the one before, as a character from "0" on.
  const names = [];
  let last = "";
  for (const line of data.names.split("\n")) names.push((last = last.slice(0, line.charCodeAt(0) - 48) + line.slice(1)));

  const thumbs = new Map();
  for (const row of body.rows) if (row.querySelector("img")) thumbs.set(Number(row.dataset.i), [...row.querySelectorAll("img")]);

  const passes = {
    ">": (value, threshold) => value > threshold,
    "<": (value, threshold) => value < threshold,
    "<=": (value, threshold) => value <= threshold,
  };
  let flags = new Uint32Array(data.n);
  const findFlags = () => {
    flags = new Uint32Array(data.n);
    for (const i in data.messages) flags[i] = 1; // damaged: the first flag
    for (const i of data.empty) flags[i] = 0; // folders without images
    data.flags.forEach((flag, k) => {
      const values = columns[flag.measure], isFlagged = passes[flag.way];
      const threshold = values instanceof Float32Array ? Math.fround(flag.threshold) : flag.threshold; // 0.3 is not above 0.3
      let n = k === 0 ? Object.keys(data.messages).length - data.empty.length : 0;
      for (let i = 0; i < data.n; i++) {
        if (!isFlagged(values[i], threshold)) continue; // nor are the NaN of damaged ones
        flags[i] |= 1 << k;
        n++;
      }
      byId("n-" + flag.name).textContent = n.toLocaleString("en");
    });
  };

  const state = { column: null, down: false, page: 0, rows: 100 };
  let order = [];
  const choose = () => {
    const text = byId("search").value.toLowerCase(), flag = byId("with").value;
    const mask = flag === "" ? 0 : flag === "any" ? -1 : 1 << Number(flag);
    order = [];
    for (let i = 0; i < data.n; i++)
      if ((mask === 0 || flags[i] & mask) && (text === "" || names[i].toLowerCase().includes(text))) order.push(i);
    if (state.column === null) return;
    const sign = state.down ? -1 : 1, values = columns[state.column];
    if (state.column === "name") order.sort((a, b) => sign * (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
    else if (state.column === "flags") order.sort((a, b) => sign * (bits(flags[a]) - bits(flags[b])) || a - b);
    else order.sort((a, b) => (isNaN(values[a]) - isNaN(values[b])) || sign * (values[a] - values[b]) || a - b); // NaN last
  };
  const bits = (value) => {
    let n = 0;
    for (; value; value &= value - 1) n++;
    return n;
  };

  const number = (value) => (isNaN(value) ? "" : Math.abs(value) >= 1e4 && Math.abs(value) < 1e21 ? value.toFixed(0) : String(+value.toPrecision(4)));
  const cell = (row, kind, text, name) => {
    const made = row.appendChild(document.createElement(kind));
    made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const rowOf = (i) => {
    const row = document.createElement("tr");
    const picture = cell(row, "td", "");
    if (thumbs.has(i)) picture.append(...thumbs.get(i));
    cell(row, "th", names[i]).scope = "row";
    cell(row, "td", data.flags.filter((_, k) => flags[i] >> k & 1).map((flag) => flag.name).join(", "), "text flag");
    if (i in data.messages) {
      cell(row, "td", data.messages[i], "message").colSpan = data.shown.length + 2;
    } else {
      for (const text of data.forms[form[i]]) cell(row, "td", text, "text");
      for (const name of data.shown) cell(row, "td", number(columns[name][i]));
    }
    return row;
  };
  const show = () => {
    const pages = Math.max(1, Math.ceil(order.length / state.rows));
    state.page = Math.min(state.page, pages - 1);
    const from = state.page * state.rows, shown = order.slice(from, from + state.rows);
    body.replaceChildren(...shown.map(rowOf));
    byId("before").disabled = state.page === 0;
    byId("after").disabled = state.page >= pages - 1;
    byId("count").textContent = order.length === 0 ? "no image" :
      `${(from + 1).toLocaleString("en")} to ${(from + shown.length).toLocaleString("en")} of ${order.length.toLocaleString("en")}`;
  };
  const renew = () => {
    state.page = 0;
    choose();
    show();
  };

  data.flags.forEach((flag, k) => {
    byId("with").add(new Option(flag.name, k));
    const input = document.createElement("input");
    input.type = "number";
    input.step = "any";
    input.value = flag.threshold;
    input.setAttribute("aria-label", "Threshold of " + flag.name);
    input.addEventListener("change", () => {
      if (isNaN(input.valueAsNumber)) return;
      flag.threshold = input.valueAsNumber;
      findFlags();
      renew();
    });
    byId("t-" + flag.name).replaceChildren(flag.way + " ", input, " " + flag.unit);
  });
  for (const head of byId("image-table").tHead.rows[0].cells) {
    if (!head.dataset.column) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      state.down = state.column === head.dataset.column ? !state.down : head.dataset.column !== "name";
      state.column = head.dataset.column;
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      renew();
    });
  }
  byId("search").addEventListener("input", renew);
  byId("with").addEventListener("change", renew);
  byId("before").addEventListener("click", () => { state.page--; show(); });
  byId("after").addEventListener("click", () => { state.page++; show(); });
  addEventListener("beforeprint", () => { state.rows = 1000; show(); });
  addEventListener("afterprint", () => { state.rows = 100; show(); });
  findFlags();
  choose();
  show();
  byId("tools").hidden = false;
  document.documentElement.dataset.ready = "yes";
})();

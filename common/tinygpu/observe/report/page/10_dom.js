// Elements and numbers. Text goes in as text only: nothing here parses HTML.

function element(namespace, name, attributes, children) {
  const e = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") e.append(child);
  return e;
}
const h = (name, attributes, ...children) => element("http://www.w3.org/1999/xhtml", name, attributes, children);
const s = (name, attributes, ...children) => element("http://www.w3.org/2000/svg", name, attributes, children);

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const cycles = (n) => whole.format(Math.round(n));
const plural = (n, one, many = one + "s") => `${whole.format(n)} ${n === 1 ? one : many}`;
const percent = (part, all) => (all ? ((100 * part) / all).toFixed(1) : "0.0") + "\u00a0%";
const significant = (x) => Number(x).toLocaleString("en", { maximumSignificantDigits: 3 });
const sum = (values) => values.reduce((a, b) => a + b, 0);

// 268 M
function scaled(n) {
  const units = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  while (n >= 1000 && i + 1 < units.length) { n /= 1000; ++i; }
  return `${significant(n)} ${units[i]}`;
}

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i + 1 < units.length) { n /= 1024; ++i; }
  return `${i ? n.toFixed(n < 10 ? 2 : 1) : n} ${units[i]}`;
}

// A table that scrolls by itself where it is wider than the page.
function scrolled(label, table) {
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, table);
}

// heads: [text, "n" for numbers]
function table(caption, heads, rows, attributes) {
  return h("table", attributes, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heads.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))),
    h("tbody", {}, rows));
}

// Draws `names`, `labelBegins`, `rootsBelow`, `unit` and `nodes` (for each its name's index, depth and size, a caller before its
// callees), which are defined before it in the file. src/CMakeLists.txt makes a string of it, without this comment.

const svg = document.documentElement, space = "http://www.w3.org/2000/svg";
document.getElementById("without-script").remove();
svg.setAttribute("width", "100%");
const count = nodes.length / 3, rowHeight = 17, charWidth = 6.6, side = 10, top = 64;
const start = new Float64Array(count), end = new Int32Array(count), parent = new Int32Array(count).fill(-1);
const nameOf = i => names[nodes[3 * i]], depthOf = i => nodes[3 * i + 1], sizeOf = i => nodes[3 * i + 2];
let deepest = 0, zoomed = 0, wanted = null, wantedText = "";

// A node begins where its elder sibling ends, or its parent begins.
const path = [], next = [];
for (let i = 0; i < count; ++i) {
  const depth = depthOf(i);
  while (path.length > depth) end[path.pop()] = i;
  parent[i] = depth > 0 ? path[depth - 1] : -1;
  start[i] = depth > 0 ? next[depth - 1] : 0;
  if (depth > 0) next[depth - 1] += sizeOf(i);
  path[depth] = i;
  next[depth] = start[i];
  deepest = Math.max(deepest, depth);
}
while (path.length > 0) end[path.pop()] = count;

function make(kind, into, attributes, text) {
  const element = document.createElementNS(space, kind);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  into.appendChild(element);
  return element;
}

const percent = (part, whole) => (whole === 0 ? 0 : 100 * part / whole).toFixed(2) + " %";
const ofShown = size => zoomed === 0 ? "" : `, ${percent(size, sizeOf(zoomed))} of what is shown`;
const describe = i => `${nameOf(i)}: ${sizeOf(i)} ${unit}, ${percent(sizeOf(i), sizeOf(0))}` +
  (i > zoomed && i < end[zoomed] ? ofShown(sizeOf(i)) : "");
const labelOf = i => nameOf(i).slice(labelBegins[nodes[3 * i]] || 0).replaceAll("(anonymous namespace)", "(anon)");
const height = top + (deepest + 1) * rowHeight + 10;
svg.setAttribute("height", height);
const background = "#fffdf5";
make("rect", svg, {width: "100%", height: "100%", fill: background});
const frames = make("g", svg, {id: "frames"});
// What stays in view while the rest is scrolled.
const header = make("g", svg, {id: "header"}), lines = [18, 36, 54];
make("rect", header, {width: "100%", height: top - 3, fill: background});
header.appendChild(document.getElementById("title"));
const control = {y: lines[1], style: "cursor: pointer; text-decoration: underline", fill: "#336"};
make("text", header, {...control, x: side, id: "search"}, "search").onclick = askAndSearch;
const reset = make("text", header, {...control, x: side + 60, id: "reset", visibility: "hidden"}, "reset zoom");
reset.onclick = () => zoom(0);
const found = make("text", header, {x: side + 150, y: lines[1], id: "found", fill: "#505"}, "");
const details = make("text", header, {x: side, y: lines[2], id: "details"}, "");
const keepInView = () => header.setAttribute("transform", `translate(0, ${window.scrollY})`);

// The same name has the same color everywhere.
function color(name) {
  let hash = 7;
  for (let i = 0; i < name.length; ++i) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  if (name === "[kernel]" || name.endsWith("_[k]")) return `hsl(${200 + hash % 30}, 60%, 70%)`;
  return `hsl(${15 + hash % 40}, ${75 + hash % 20}%, ${60 + hash % 15}%)`;
}

function draw() {
  const width = Math.max(svg.clientWidth || 1200, 200) - 2 * side;
  const scale = width / Math.max(sizeOf(zoomed), 1), from = start[zoomed];
  frames.replaceChildren();
  for (let i = 0; i < count;) {
    const isAbove = i <= zoomed && zoomed < end[i];
    const left = isAbove ? 0 : (start[i] - from) * scale;
    const wide = isAbove ? width : sizeOf(i) * scale;
    if (wide < 0.5 || left + wide <= 0 || left >= width) {
      i = end[i];
      continue;
    }
    drawFrame(i, side + left, Math.min(wide, width - left), isAbove && i !== zoomed);
    ++i;
  }
}

function drawFrame(i, x, width, isAbove) {
  const y = top + (rootsBelow ? deepest - depthOf(i) : depthOf(i)) * rowHeight, name = nameOf(i);
  const frame = make("g", frames, {"class": "frame", style: "cursor: pointer", opacity: isAbove ? 0.5 : 1});
  frame.onclick = () => zoom(i);
  frame.onmouseover = () => { details.textContent = describe(i); };
  frame.onmouseout = () => { details.textContent = ""; };
  make("title", frame, {}, describe(i));
  const fill = wanted !== null && wanted.test(name) ? "#d3f" : color(name);
  make("rect", frame, {x: x.toFixed(1), y, width: Math.max(width - 0.3, 0.2).toFixed(1), height: rowHeight - 1, fill, rx: 1});
  const letters = Math.floor((width - 4) / charWidth);
  if (letters < 3) return;
  const label = labelOf(i);
  make("text", frame, {x: (x + 3).toFixed(1), y: y + 12}, label.length <= letters ? label : label.slice(0, letters - 1) + "…");
}

function zoom(i) {
  zoomed = i;
  reset.setAttribute("visibility", i === 0 ? "hidden" : "visible");
  showFound();
  draw();
}

// Upper and lower case are the same.
function search(text) {
  try {
    wanted = text ? new RegExp(text, "i") : null;
  } catch (error) {
    wanted = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
  wantedText = text;
  showFound();
  draw();
}

// Of the samples that are shown. Those in a function that is searched for count once, however often it calls itself.
function sizeFound() {
  for (let i = zoomed; i >= 0; i = parent[i])
    if (wanted.test(nameOf(i))) return sizeOf(zoomed);
  let size = 0;
  for (let i = zoomed; i < end[zoomed];) {
    if (wanted.test(nameOf(i))) {
      size += sizeOf(i);
      i = end[i];
    } else {
      ++i;
    }
  }
  return size;
}

function showFound() {
  if (wanted === null) {
    found.textContent = "";
    return;
  }
  found.textContent = `${wantedText}: ${percent(sizeFound(), sizeOf(zoomed))} of what is shown`;
}

function askAndSearch() {
  const text = prompt("Function (a regular expression; nothing ends the search)", wantedText);
  if (text !== null) search(text);
}

window.addEventListener("keydown", event => {
  if (event.key === "f" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    askAndSearch();
  } else if (event.key === "Escape") {
    zoom(0);
  }
});
window.addEventListener("resize", draw);
window.addEventListener("scroll", keepInView);
draw();
if (rootsBelow) window.scrollTo(0, height);
keepInView();

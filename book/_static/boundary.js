// Interactive decision boundary: two sliders choose a cell of a precomputed grid over (p, c).
// The page carries the grid as JSON; nothing is computed or fetched in the browser.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, attributes, parent) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.append(node);
    return node;
  }

  function slider(name, meaning, values, start, parent, onChange) {
    const id = `boundary-${name}`;
    const label = document.createElement("label");
    label.htmlFor = id;
    label.textContent = meaning;
    const input = document.createElement("input");
    Object.assign(input, { id, type: "range", min: 0, max: values.length - 1, step: 1, value: start });
    const output = document.createElement("output");
    output.htmlFor = id;
    const show = () => {
      output.textContent = values[input.value];
      input.setAttribute("aria-valuetext", `${name} = ${values[input.value]}`);
    };
    input.addEventListener("input", () => { show(); onChange(); });
    show();
    parent.append(label, input, output);
    return input;
  }

  function start(figure) {
    const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    const svg = element("svg", { viewBox: data.viewBox, role: "img" }, figure);
    const title = element("title", {}, svg);
    const region = element("path", { class: "region", "fill-rule": "evenodd" }, svg);
    const quantile = element("path", { class: "quantile" }, svg);
    const points = data.points.map(([cx, cy]) => element("circle", { cx, cy, r: 7 }, svg));
    const controls = document.createElement("div");
    controls.className = "controls";
    const summary = document.createElement("p");
    summary.className = "summary";
    summary.setAttribute("aria-live", "polite");
    figure.append(controls, summary);

    const pick = {};
    const draw = () => {
      const cell = data.cells[pick.p.value * data.cs.length + Number(pick.c.value)];
      region.setAttribute("d", cell.region);
      quantile.setAttribute("d", cell.quantile);
      const support = new Set(cell.support);
      points.forEach((point, i) => {
        point.setAttribute("class", support.has(i) ? "point support" : "point");
        point.setAttribute("r", support.has(i) ? 11 : 7);
      });
      summary.textContent = cell.text;
      title.textContent = `Decision boundary at p = ${data.ps[pick.p.value]}, c = ${data.cs[pick.c.value]}. ${cell.text}`;
    };
    pick.p = slider("p", "exponent p", data.ps, data.start[0], controls, draw);
    pick.c = slider("c", "cost c", data.cs, data.start[1], controls, draw);
    draw();
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("figure.boundary").forEach(start);
  });
})();

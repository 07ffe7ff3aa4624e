// Evaluated in every page of the book: returns a list of [kind, detail] problems.
(() => {
  const problems = [];
  const report = (kind, detail) => problems.push([kind, String(detail).slice(0, 160)]);

  for (const image of document.querySelectorAll("article img")) {
    const other = image.loading === "lazy" && !image.getClientRects().length; // for the other theme
    if (!other && (!image.complete || image.naturalWidth === 0)) report("image not loaded", image.src);
    if (!(image.alt || "").trim() || /^(_images|\.\.\/_images)/.test(image.alt)) report("image without alt text", image.src);
  }
  for (const error of document.querySelectorAll("mjx-merror, [data-mjx-error]")) {
    report("formula error", error.getAttribute("data-mjx-error") || error.textContent);
  }

  // TeX that MathJax did not replace: commands or dollar signs in running text.
  const tex = /\\(?:frac|sum|zeta|alpha|left|right|ell|norm|begin|end|text|mathbf|\(|\[)|\$\$|\$[^$\s][^$]*\$/;
  const hidden = "pre, code, script, style, mjx-container, textarea, noscript, [data-raw-ok]";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (tex.test(node.data) && !node.parentElement.closest(hidden)) report("raw TeX", node.data.trim());
  }
  if (/\\[a-z]|\$/.test(document.title)) report("raw TeX", "title: " + document.title);

  for (const output of document.querySelectorAll("article .cell_output, article .output")) {
    if (/Traceback \(most recent call last\)/.test(output.textContent)) report("traceback", output.textContent);
    if (/<[\w.]+ object( at 0x\w+)?>/.test(output.textContent)) report("object without a text", output.textContent.trim());
    if (/ipykernel_\d+/.test(output.textContent)) report("warning in output", output.textContent.trim());
  }
  for (const field of document.querySelectorAll("article input, article select")) {
    const named = field.labels?.length || field.getAttribute("aria-label") || field.getAttribute("aria-labelledby");
    if (!named && !field.closest(".toggle, .sd-tab-set")) report("control without label", field.outerHTML);
  }
  for (const node of document.querySelectorAll("[tabindex]")) {
    if (node.tabIndex > 0) report("tab order changed", node.outerHTML);
  }
  return problems;
})()

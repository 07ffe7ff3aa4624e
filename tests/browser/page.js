// Evaluated in every page of the book as it is laid out now: on a desk in both themes, on a wide desk and
// on a phone. Returns { problems: [[kind, detail]], figures: [[address, width, colour behind, filter]] }.
(() => {
  const problems = [], all = (selector) => [...document.querySelectorAll(selector)];
  const report = (kind, detail) => problems.push([kind, String(detail).replace(/\s+/g, " ").trim().slice(0, 160)]);
  const isShown = (node) => node.getClientRects().length > 0;
  const isInside = (node, overflow) => {
    for (let at = node.parentElement; at && at !== document.body; at = at.parentElement) {
      if (at.tagName !== "ARTICLE" && overflow.test(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };

  // Images, formulas, outputs of cells, controls.
  for (const image of all("article img")) {
    // what is not shown is for the other theme
    if (isShown(image) && (!image.complete || image.naturalWidth === 0)) report("image not loaded", image.src);
    if (!(image.alt || "").trim() || /^(_images|\.\.\/_images)/.test(image.alt)) report("image without alt text", image.src);
  }
  // MathJax paints a macro that it does not know red instead of raising an error.
  for (const node of all('mjx-merror, [data-mjx-error], mjx-container [fill="red"]')) report("formula error", node.outerHTML);
  const tex = /\\(?:frac|sum|zeta|alpha|left|right|ell|norm|begin|end|text|mathbf|\(|\[)|\$\$|\$[^$\s][^$]*\$/;
  const hidden = "pre, code, script, style, mjx-container, textarea, noscript, [data-raw-ok]";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (tex.test(node.data) && !node.parentElement.closest(hidden)) report("raw TeX", node.data);
  }
  for (const output of all("article .cell_output, article .output")) {
    const found = output.textContent.match(/Traceback \(most recent call last\)|<[\w.]+ object( at 0x\w+)?>|ipykernel_\d+/);
    if (found) report("traceback, warning or object in an output", output.textContent);
  }
  for (const field of all("article input, article select")) {
    const isNamed = field.labels?.length || field.getAttribute("aria-label") || field.getAttribute("aria-labelledby");
    if (!isNamed && !field.closest(".toggle, .sd-tab-set")) report("control without label", field.outerHTML);
  }
  for (const node of all("[tabindex]")) if (node.tabIndex > 0) report("tab order changed", node.outerHTML);

  // What sticks out: of the screen, of the column on a desk, of its line.
  const width = document.documentElement.clientWidth;
  for (const node of innerWidth > 600 ? [] : all("article *, header *, footer *")) {
    const box = node.getBoundingClientRect();
    if (box.width > 0 && box.right > width + 1 && !isInside(node, /auto|scroll|hidden/)) report("overflow on a phone", node.outerHTML);
  }
  const wide = ['article mjx-container[display="true"], article div.math', "article table", "article pre"];
  for (const node of innerWidth < 1000 ? [] : all(wide.slice(0, innerWidth < 1200 ? 2 : 3).join())) {
    const isOut = isShown(node) && node.scrollWidth > node.clientWidth + 2;
    if (isOut) report(`${node.tagName.toLowerCase()} wider than its column`, `${node.scrollWidth} px in ${node.clientWidth} px: ${node.textContent}`);
  }
  for (const node of all('article mjx-container:not([display="true"])')) {
    const box = node.getBoundingClientRect(), line = node.closest("p, li, dd, td, th, figcaption, summary, h1, h2, h3, article");
    const isCut = box.width && box.right > line.getBoundingClientRect().right + 2;
    if (isCut && !isInside(node, /auto|scroll/)) report("clipped inline formula", line.textContent);
  }

  // Sentences that nobody would write by hand.
  const template = /(?<=^|[\s(])1 (?:data sets|sets|tables|methods|splits|cells|rows|points|times)\b|\(none\)|\{\{|\}\}|\(not computed\)|(?<!\w)nan(?!\w)|\b(?!that|had)(\w{3,}) \1\b/;
  for (const node of all("article :is(p, li, td, th, figcaption, caption, dd, summary, h1, h2, h3)")) {
    if (node.closest("pre, .toctree-wrapper, dl.py, table.dataframe") || node.querySelector("p, li")) continue;
    const copy = node.cloneNode(true);
    for (const other of copy.querySelectorAll("code, mjx-container, script, style, .math, svg, .headerlink")) other.replaceWith(" \u2026 ");
    const found = copy.textContent.replace(/\s+/g, " ").match(template);
    if (found) report("template sentence", `“${found[0]}” in: ${copy.textContent}`);
  }

  // Contrast of text, captions too, against what is behind it (WCAG AA); code is coloured by the theme.
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = (colour) => {
    const [R, G, B] = colour.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.5) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  for (const node of all("article :is(p, li, td, th, summary, a, button, label, figcaption, caption, .caption-text, .verdict)")) {
    const own = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!own || !isShown(node) || node.closest("pre, .highlight, .headerlink")) continue;
    const colour = parse(getComputedStyle(node).color).slice(0, 3);
    const [high, low] = [luminance(colour), luminance(behind(node))].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) report("faint text", `contrast ${contrast.toFixed(1)}: ${node.textContent}`);
  }
  const figures = all("article img")
    .filter((image) => isShown(image) && /\.svg$/.test(image.currentSrc))
    .map((image) => [image.currentSrc, image.getBoundingClientRect().width, behind(image), getComputedStyle(image).filter]);
  return { problems, figures };
})()

// Vector images as shown: [address, width in CSS px, colour of the page behind, CSS filter] of each.
(() => {
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) || []).map(Number);
      if (colour.length === 3 || colour[3] > 0.5) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("article img")]
    .filter((image) => image.getClientRects().length && /\.svg$/.test(image.currentSrc))
    .map((image) => [image.currentSrc, image.getBoundingClientRect().width, behind(image), getComputedStyle(image).filter]);
})()

// Vector images as shown: [address, width in CSS px] of each.
(() => [...document.querySelectorAll("article img")]
  .filter((image) => image.getClientRects().length && /\.svg$/.test(image.currentSrc))
  .map((image) => [image.currentSrc, image.getBoundingClientRect().width]))()

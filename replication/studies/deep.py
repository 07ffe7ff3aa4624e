r"""Features learnt together with the ball: deep lp-SVDD on Fashion-MNIST, beside kernel methods.

A network phi_w without bias maps an image to 32 features; the centre a is fixed before training
(Ruff et al. 2018). With d_i = ||phi_w(x_i) - a||^2 on a batch of m images the losses are

    one-class    (1/m) sum_i d_i
    slack, p     min over R^2 of  R^2 + c sum_i (d_i - R^2)_+^p.

The gradient of the latter is sum_i alpha_i grad d_i, alpha_i = c p (d_i - R^2)_+^(p-1), of sum 1.
c is the cost at which a share of the batch lies outside: R^2 is the largest distance of the others.
"""

import gzip
import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, product
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD
from replication.protocol import auc
from replication.store import Row
from replication.studies.study import Named, study

CLASSES = "T-shirt trouser pullover dress coat sandal shirt sneaker bag boot".split()
VARIABLE, FOLDER = "LPSVDD_FASHION_MNIST", "/usr/share/datasets/fashion-mnist"
FILES = "train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1".split()
SHA256 = "14410854cf7a289477dcfc7df3f8ec24741e281cdcc425ede0d9a748ca630214"
LEAK, BATCH, DECAY, LEAST = 0.1, 200, 1e-6, 0.1  # as Ruff et al. (2018); LEAST: |a_j|
EPOCHS, SHARE, LONG, HALF = 12, 0.1, 4, 0.5  # LONG times as many epochs, HALF: controls
LOSSES = {"one-class": None, "p = 1": 1.0, "p = 4/3": 4 / 3, "p = 2": 2.0, "p = 5": 5.0}
SHAPES = {"MLP": [(784, 128), (128, 32)], "conv": [(5, 5, 1, 8), (5, 5, 8, 16), (256, 32)]}
RATES, DECODER = {"MLP": 3e-3, "conv": 1e-2}, [(32, 128), (128, 784)]
SETTINGS = [SHA256, LEAK, BATCH, DECAY, LEAST, EPOCHS, SHARE, LONG, HALF, LOSSES, SHAPES, RATES]
Array, Layers = np.ndarray, list[np.ndarray]


@cache
def images() -> list[Array]:
    """Images and labels of training and test, each image with mean 0 and variance 1."""
    files = [Path(os.environ.get(VARIABLE, FOLDER), f"{name}-ubyte.gz") for name in FILES]
    raw = [gzip.decompress(file.read_bytes()) for file in files if file.exists()]
    if hashlib.sha256(b"".join(raw)).hexdigest() != SHA256:
        raise FileNotFoundError(f"install Debian's dataset-fashion-mnist, or set {VARIABLE}")
    parts = [np.frombuffer(one, np.uint8, offset=4 + 4 * one[3]) for one in raw]  # one[3]: axes
    for number in (0, 2):
        pixels = parts[number].reshape(-1, 784).astype(np.float32)
        pixels -= pixels.mean(axis=1, keepdims=True)
        parts[number] = pixels / pixels.std(axis=1, keepdims=True)
    return parts


def started(shapes: list[tuple[int, ...]], rng: np.random.Generator) -> Layers:
    """Random layers that keep the variance; a dense one is a convolution of a single pixel."""
    drawn = [rng.normal(0.0, math.sqrt(2 / (1 + LEAK**2) / math.prod(s[:-1])), s) for s in shapes]
    return [w.astype(np.float32).reshape((1, 1, *w.shape)[-4:]) for w in drawn]


def windows(X: Array, size: int) -> Array:
    """View of what a convolution sees, stride 2: image, row, column, and the axes of a window."""
    view = np.lib.stride_tricks.sliding_window_view(X, (size, size), axis=(1, 2), writeable=True)
    return view[:, ::2, ::2].transpose(0, 1, 2, 4, 5, 3)


def outputs(network: Layers, X: Array, slope: Callable | None = None) -> tuple[Array, Layers]:
    """Outputs, and derivatives of a loss by the weights; ``slope`` gives those by the outputs."""
    Z, kept, found = X, [], []
    for weights in network:
        Z = np.where(Z > 0, Z, LEAK * Z) if kept else Z  # leaky ReLU
        side = math.isqrt(Z[0].size // weights.shape[2])
        Z = Z.reshape(len(X), side, side, -1)
        seen = windows(Z, len(weights)).reshape(-1, weights[..., 0].size)
        kept.append((weights, Z, seen))
        Z = (seen @ weights.reshape(-1, weights.shape[-1])).reshape(len(X), -1)
    back = slope(Z, X) if slope else None
    while slope and kept:
        weights, inputs, seen = kept.pop()
        back = back.reshape(len(seen), -1)
        found.insert(0, (seen.T @ back).reshape(weights.shape))
        if kept:  # nobody needs the derivatives by the images
            parts, back = back @ weights.reshape(-1, weights.shape[-1]).T, np.zeros_like(inputs)
            view = windows(back, len(weights))
            for i, j in np.ndindex(weights.shape[:2]):
                view[:, :, :, i, j] += parts.reshape(view.shape)[:, :, :, i, j]
            back = np.where(inputs > 0, back, LEAK * back)
    return Z, found


def train(start: Layers, X: Array, slope: Callable, rate: float, epochs: int, seed: list) -> Layers:
    """The network after AdamW with a rate that falls to zero."""
    rng, batches = np.random.default_rng(seed), len(X) // BATCH
    splits = (np.array_split(rng.permutation(len(X)), batches) for _ in range(epochs))
    network, first, second = ([factor * w for w in start] for factor in (1, 0, 0))
    for step, rows in enumerate(chain.from_iterable(splits), start=1):
        _, gradient = outputs(network, X[rows], slope)
        now = rate * (1.0 - (step - 1) / (epochs * batches))
        size = now * math.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step)
        for w, m, v, g in zip(network, first, second, gradient, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            w -= size * m / (np.sqrt(v) + 1e-8) + now * DECAY * w
    return network


def ball(centre: Array, p: float | None, share: float, Z: Array, _: Array) -> Array:
    """Derivatives of the slack loss by the features Z; p = None is the one-class loss."""
    d = ((Z - centre) ** 2).sum(axis=1)
    slack = np.maximum(d - np.sort(d)[-round(share * len(d)) - 1], 0.0) if p else np.ones_like(d)
    alpha = np.where(slack > 0, (slack / max(slack.max(), 1e-30)) ** ((p or 1.0) - 1.0), 0.0)
    return 2.0 * (alpha / max(alpha.sum(), 1e-30))[:, None] * (Z - centre)


def spread(features: Array, start: Array) -> dict[str, float]:
    """Variance as a share of that at the start; rank: exp of the entropy of the axes' shares."""
    values, first = (np.linalg.eigvalsh(np.cov(Z.T.astype(float))) for Z in (features, start))
    shares = np.maximum(values / values.sum(), 1e-300)
    rank = np.exp(-(shares * np.log(shares)).sum())
    return {"variance": float(f"{values.sum() / first.sum():.4g}"), "rank": float(f"{rank:.4g}")}


@dataclass(frozen=True)
class Garment(Named):
    """One class as targets, and the seed of what is random."""

    dataset: str
    trial: int


@study(
    "Does a network learnt together with the ball do better, and at which p?",
    tasks=lambda _, trials: [Garment(name, t) for t, name in product(range(trials), CLASSES)],
    names=(),
    trials=3,
    parameters={"settings": SETTINGS},
)
def deep(task: Garment) -> list[Row]:
    """One row per detector: learnt features with each loss, and what is not learnt."""
    pixels, labels, test, test_labels = images()
    number, seed, rows = CLASSES.index(task.dataset), task.trial, []
    X, y = pixels[labels == number], np.where(test_labels == number, 1, -1)

    def add(features: str, method: str, scores: Array, **cell: object) -> None:
        row = {"features": features, "method": method, "auc": round(auc(scores, y), 4)}
        rows.append(vars(task) | row | cell)

    add("pixels", "isolation forest", IsolationForest(random_state=seed).fit(X).score_samples(test))
    if seed == 0:  # these have nothing random
        views = {"pixels": np.asarray, "components": PCA(40, svd_solver="full").fit(X).transform}
        for p, (name, view) in product((1.0, 2.0), views.items()):
            model = LpSVDD(p=p, nu=SHARE).fit(view(X))
            add(name, f"kernel p = {p:.0f}", model.score_samples(view(test)))
        add("pixels", "OneClassSVM", OneClassSVM(nu=SHARE).fit(X).score_samples(test))
        add("pixels", "5th neighbour", -NearestNeighbors().fit(X).kneighbors(test)[0][:, -1])
        add("pixels", "mean image", -((test - X.mean(axis=0)) ** 2).sum(axis=1))
    for encoder, start in product(SHAPES, ("random", "autoencoder")):
        learn = partial(train, X=X, rate=RATES[encoder], seed=[number, seed])
        first = started(SHAPES[encoder] + DECODER, np.random.default_rng([number, seed]))
        if start == "autoencoder":  # its loss is the mean squared error
            first = learn(first, slope=lambda Z, X: 2.0 * (Z - X) / X.size, epochs=EPOCHS)
        first = first[: -len(DECODER)]
        before = outputs(first, X)[0]
        mean = before.mean(axis=0)  # none near zero: the zero network must not be a solution
        centre = np.where(np.abs(mean) < LEAST, np.copysign(LEAST, mean), mean)
        runs = [("none", SHARE, 0)] + [(loss, SHARE, EPOCHS) for loss in LOSSES]
        if seed == 0 and start == "autoencoder":
            runs += [(loss, SHARE, LONG * EPOCHS) for loss in ("one-class", "p = 2")]
        if seed == 0 and encoder == "MLP":
            runs += [(loss, HALF, EPOCHS) for loss, p in LOSSES.items() if p]
        for loss, share, epochs in runs:
            slope = partial(ball, centre, LOSSES.get(loss), share)
            found = learn(first, slope=slope, epochs=epochs)
            Z, new = outputs(found, X)[0], outputs(found, test)[0]
            cell = dict(start=start, loss=loss, share=share, epochs=epochs, **spread(Z, before))
            add(encoder, "ball", -((new - centre) ** 2).sum(axis=1), **cell)
            if seed == 0 and share == SHARE and loss in ("none", "one-class", "p = 2"):
                add(encoder, "kernel p = 2", LpSVDD(nu=SHARE).fit(Z).score_samples(new), **cell)
    return rows

r"""Features learnt together with the ball: deep lp-SVDD on Fashion-MNIST, beside kernel methods.

A network phi_w without bias maps an image to 32 features; the centre a is fixed before training
(Ruff et al. 2018). With d_i = ||phi_w(x_i) - a||^2 on a batch of m images the losses are

    one-class    (1/m) sum_i d_i
    slack, p     min over R^2 of  R^2 + c sum_i (d_i - R^2)_+^p.

R^2 is the root of c p sum_i (d_i - R^2)_+^(p-1) = 1, so the gradient is sum_i alpha_i grad d_i with
alpha_i = c p (d_i - R^2)_+^(p-1), of sum 1. c is the cost at which a share of the batch lies
outside: R^2 is the largest distance of the others, and no scale matters.

NumPy trains the networks: 50 lines, against an extra of 750 MB (PyTorch) whose requirements
contradict the lock file; so every machine that tests the project tests the learning.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import OneClassSVM

from lpsvdd import LpSVDD
from replication.protocol import auc
from replication.store import Row
from replication.studies.study import study

CLASSES = "T-shirt trouser pullover dress coat sandal shirt sneaker bag boot".split()
VARIABLE, FOLDER = "LPSVDD_FASHION_MNIST", "/usr/share/datasets/fashion-mnist"
SHA256 = "14410854cf7a289477dcfc7df3f8ec24741e281cdcc425ede0d9a748ca630214"
LEAK, BATCH, DECAY, LEAST = 0.1, 200, 1e-6, 0.1
"""Slope below zero, images a batch, weight decay, least |a_j|: Ruff et al. (2018)."""
EPOCHS, SHARE, LONG, HALF = 12, 0.1, 4, 0.5
"""Of the study; and its controls, so many times as long and with another share."""
LOSSES = {"one-class": None, "p = 1": 1.0, "p = 4/3": 4 / 3, "p = 2": 2.0, "p = 5": 5.0}
SHAPES = {"MLP": [(784, 128), (128, 32)], "conv": [(5, 5, 1, 8), (5, 5, 8, 16), (256, 32)]}
RATES = {"MLP": 3e-3, "conv": 1e-2}
DECODER = [(32, 128), (128, 784)]
SETTINGS = [SHA256, LEAK, BATCH, DECAY, LEAST, EPOCHS, SHARE, LONG, HALF, LOSSES, SHAPES, RATES]
Network = list[np.ndarray]
Slope = Callable[[np.ndarray, np.ndarray], np.ndarray]


@cache
def images() -> tuple[np.ndarray, ...]:
    """Images and labels of training and test, each image with mean 0 and variance 1."""
    folder, checksum, parts = Path(os.environ.get(VARIABLE, FOLDER)), hashlib.sha256(), []
    if not folder.is_dir():
        raise FileNotFoundError(f"install dataset-fashion-mnist (Debian), or set {VARIABLE}")
    for part, (kind, header) in product(
        ("train", "t10k"), (("images-idx3", 16), ("labels-idx1", 8))
    ):
        raw = gzip.decompress((folder / f"{part}-{kind}-ubyte.gz").read_bytes())
        checksum.update(raw)
        parts.append(np.frombuffer(raw, dtype=np.uint8, offset=header))
    if checksum.hexdigest() != SHA256:
        raise ValueError(f"the files in {folder.name} are not those of Fashion-MNIST")
    for number in (0, 2):
        pixels = parts[number].reshape(-1, 784).astype(np.float32)
        pixels -= pixels.mean(axis=1, keepdims=True)
        parts[number] = pixels / pixels.std(axis=1, keepdims=True)
    return tuple(parts)


def started(shapes: list[tuple[int, ...]], rng: np.random.Generator) -> Network:
    """Random layers that keep the variance: two axes are dense, four a convolution."""
    scales = [math.sqrt(2.0 / (1.0 + LEAK**2) / math.prod(shape[:-1])) for shape in shapes]
    drawn = [rng.normal(0.0, s, shape) for s, shape in zip(scales, shapes, strict=True)]
    return [weights.astype(np.float32) for weights in drawn]


def outputs(network: Network, X: np.ndarray) -> tuple[np.ndarray, list[tuple]]:
    """Outputs of the layers, leaky ReLU between them, and what ``slopes`` needs."""
    kept = []
    for number, weights in enumerate(network):
        X = np.where(X > 0, X, LEAK * X) if number else X
        patches, shape = X.reshape(len(X), -1), (len(X),)
        if weights.ndim == 4:  # stride 2, without a border
            size, _, channels, _ = weights.shape
            side = math.isqrt(X[0].size // channels)
            X = X.reshape(len(X), side, side, channels)
            windows = sliding_window_view(X, (size, size), axis=(1, 2))[:, ::2, ::2]
            shape = windows.shape[:3]
            patches = windows.transpose(0, 1, 2, 4, 5, 3).reshape(math.prod(shape), -1)
        kept.append((X, patches, shape))
        X = (patches @ weights.reshape(-1, weights.shape[-1])).reshape(*shape, -1)
    return X, kept


def slopes(network: Network, kept: list[tuple], slope: np.ndarray) -> Network:
    """Derivatives of a loss by the weights, from those by the outputs."""
    found: Network = []
    for weights, (X, patches, shape) in zip(network[::-1], kept[::-1], strict=True):
        slope = slope.reshape(len(patches), -1)
        found.insert(0, (patches.T @ slope).reshape(weights.shape))
        if len(found) == len(network):
            break  # nobody needs the derivative by the images
        slope = slope @ weights.reshape(-1, weights.shape[-1]).T
        if weights.ndim == 4:
            size, (_, h, w) = weights.shape[0], shape
            slope, parts = np.zeros_like(X), slope.reshape(*shape, size, size, -1)
            for i, j in product(range(size), repeat=2):
                slope[:, i : i + 2 * h : 2, j : j + 2 * w : 2] += parts[:, :, :, i, j]
        slope = np.where(X > 0, slope.reshape(X.shape), LEAK * slope.reshape(X.shape))
    return found


def train(
    network: Network, X: np.ndarray, slope: Slope, *, rate: float, epochs: int, seed: Any
) -> Network:
    """The network after AdamW with a rate that falls to zero; ``slope`` is that of the loss."""
    rng, batches = np.random.default_rng(seed), len(X) // BATCH
    network = [weights.copy() for weights in network]
    first, second = ([np.zeros_like(w) for w in network] for _ in range(2))
    for epoch in range(epochs):
        for k, rows in enumerate(np.array_split(rng.permutation(len(X)), batches)):
            step = epoch * batches + k + 1
            found, kept = outputs(network, X[rows])
            gradient = slopes(network, kept, slope(found, X[rows]))
            now = rate * (1.0 - (step - 1) / (epochs * batches))
            size = now * math.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step)
            for w, m, v, g in zip(network, first, second, gradient, strict=True):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                w -= size * m / (np.sqrt(v) + 1e-8) + now * DECAY * w
    return network


def copied(found: np.ndarray, batch: np.ndarray) -> np.ndarray:
    """Derivatives of an autoencoder's mean squared error."""
    return 2.0 * (found - batch) / batch.size


def distances(features: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Squared distances to the centre."""
    return ((features - centre) ** 2).sum(axis=1)


def pulls(d: np.ndarray, p: float | None, share: float) -> np.ndarray:
    """alpha of a batch with these squared distances; p = None is the one-class loss."""
    if p is None:
        return np.full_like(d, 1.0 / len(d))
    slack = np.maximum(d - np.sort(d)[-round(share * len(d)) - 1], 0.0)
    alpha = np.where(slack > 0, (slack / max(slack.max(), 1e-30)) ** (p - 1.0), 0.0)
    return alpha / max(alpha.sum(), 1e-30)


def ball(centre: np.ndarray, p: float | None, share: float) -> Slope:
    """Derivatives of the one-class or the slack loss by the features."""
    return lambda Z, _: 2.0 * pulls(distances(Z, centre), p, share)[:, None] * (Z - centre)


def centre_of(features: np.ndarray) -> np.ndarray:
    """The mean, no coordinate near zero: the zero network must not be a solution."""
    mean = features.mean(axis=0)
    return np.where(np.abs(mean) < LEAST, np.copysign(LEAST, mean), mean)


def spread(features: np.ndarray) -> np.ndarray:
    """Total variance, and effective rank: exp of the entropy of the components' shares."""
    values = np.linalg.eigvalsh(np.cov(features.T.astype(float)))
    shares = np.maximum(values / values.sum(), 1e-300)
    return np.array([values.sum(), np.exp(-(shares * np.log(shares)).sum())])


def kernel(X: np.ndarray, test: np.ndarray, p: float = 2.0) -> np.ndarray:
    """Scores of the package's default model."""
    return LpSVDD(p=p, nu=SHARE).fit(X.astype(float)).score_samples(test.astype(float))


def shallow(X: np.ndarray, test: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Features, detector and test scores of what is not learnt; share 0.1, else defaults."""
    axes = PCA(40, svd_solver="full").fit(X)
    for p in (1.0, 2.0):
        yield "pixels", f"kernel p = {p:.0f}", kernel(X, test, p)
        yield "components", f"kernel p = {p:.0f}", kernel(*map(axes.transform, (X, test)), p)
    yield "pixels", "OneClassSVM", OneClassSVM(nu=SHARE).fit(X).score_samples(test)
    near = NearestNeighbors(algorithm="brute").fit(X)
    yield "pixels", "5th neighbour", -near.kneighbors(test)[0][:, -1]
    yield "pixels", "mean image", -distances(test, X.mean(axis=0))


class Garment(NamedTuple):
    """One class as targets, and the seed of what is random."""

    dataset: str
    trial: int
    key = property(lambda self: f"{self.dataset}-{self.trial}")


def garments(names: list[str], trials: int) -> list[Garment]:
    """Every class with every seed."""
    return [Garment(name, trial) for trial, name in product(range(trials), CLASSES)]


def trained(encoder: str, start: str, seed: int) -> Iterator[tuple[str, float, int]]:
    """Loss, share and epochs: the start itself, every loss and, with the first seed, controls."""
    yield "none", SHARE, 0
    yield from ((loss, SHARE, EPOCHS) for loss in LOSSES)
    if seed == 0 and start == "autoencoder":
        yield from ((loss, SHARE, LONG * EPOCHS) for loss in ("one-class", "p = 2"))
    if seed == 0 and encoder == "MLP":
        yield from ((loss, HALF, EPOCHS) for loss, p in LOSSES.items() if p)


@study(
    "Does a network learnt together with the ball do better, and at which p?",
    tasks=garments,
    names=(),
    trials=3,
    parameters={"settings": SETTINGS},
)
def deep(task: Garment) -> list[Row]:
    """One row per detector: learnt features with each loss, and what is not learnt."""
    pixels, labels, test, test_labels = images()
    number, seed, rows = CLASSES.index(task.dataset), task.trial, []
    X, y = pixels[labels == number], np.where(test_labels == number, 1, -1)

    def add(features: str, method: str, scores: np.ndarray, **further: Any) -> None:
        head = {"dataset": task.dataset, "trial": seed, "features": features, "method": method}
        rows.append(head | {"auc": round(auc(scores, y), 4)} | further)

    add("pixels", "isolation forest", IsolationForest(random_state=seed).fit(X).score_samples(test))
    for features, method, scores in shallow(X, test) if seed == 0 else ():
        add(features, method, scores)
    for encoder, start in product(SHAPES, ("random", "autoencoder")):
        how = {"rate": RATES[encoder], "seed": [number, seed]}
        first = started(SHAPES[encoder] + DECODER, np.random.default_rng([number, seed]))
        if start == "autoencoder":
            first = train(first, X, copied, epochs=EPOCHS, **how)
        first = first[: -len(DECODER)]
        before = outputs(first, X)[0]
        centre = centre_of(before)
        for loss, share, epochs in trained(encoder, start, seed):
            slope = ball(centre, LOSSES.get(loss), share)
            found = train(first, X, slope, epochs=epochs, **how)
            Z, new = outputs(found, X)[0], outputs(found, test)[0]
            variance, rank = spread(Z) / [spread(before)[0], 1.0]
            cell = {"start": start, "loss": loss, "share": share, "epochs": epochs}
            cell |= {"variance": float(f"{variance:.4g}"), "rank": float(f"{rank:.4g}")}
            add(encoder, "ball", -distances(new, centre), **cell)
            if seed == 0 and share == SHARE and loss in ("none", "one-class", "p = 2"):
                add(encoder, "kernel p = 2", kernel(Z, new), **cell)
    return rows

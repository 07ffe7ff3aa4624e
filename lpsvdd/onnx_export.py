r"""Fitted models as ONNX graphs, for programs without Python.

The graph computes what the estimator computes,

.. math:: s(x) = -k(x, x) + 2 \sum_i c_i k(x, v_i) - \|a\|^2,

with three outputs a row: ``label`` (+1 accepted, -1 rejected), ``score`` (high is normal) and
``decision`` (score minus threshold). Squared distances are summed from differences, not expanded,
so that float32 loses about 1e-6 and not more. Pipelines go through skl2onnx; this module tells it
about our estimators and transformers. It needs the extra ``onnx``.

In float32, inputs, support vectors and the threshold are rounded: scores agree to about 1e-5 of
their size, and a row that lies on the threshold to that precision may change its label. Where
negatives make the coefficients large, their rounding shows more; float64 graphs avoid both. The
estimator tells rows apart whose kernel values are lost beside 1 (``kernels.rbf_distances``); in a
graph they have the same score, which agrees to eleven digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lpsvdd.conformal import ConformalDetector
from lpsvdd.estimators import LpSVDD
from lpsvdd.preprocessing import Indicators, PositiveImputer, PositiveScaler, UnitNorm
from lpsvdd.selection import LpSVDDCV
from lpsvdd.weighted import WeightedLpSVDD

try:
    from skl2onnx import convert_sklearn, update_registered_converter
    from skl2onnx._parse import _parse_sklearn  # what its own parsers of meta-estimators call
    from skl2onnx.algebra import onnx_ops as onnx
    from skl2onnx.algebra.complex_functions import onnx_cdist
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
        guess_numpy_type,
    )
except ImportError as error:
    raise ImportError(
        "export to ONNX needs skl2onnx: install lpsvdd with its extra onnx"
    ) from error

OUTPUTS = ("label", "score", "decision")


def to_onnx(model: Any, X: Any = None, *, dtype: Any = np.float32) -> Any:
    """A fitted model as an ONNX graph with outputs ``label``, ``score`` and ``decision``.

    Parameters
    ----------
    model : fitted estimator
        LpSVDD, LpSVDDCV, ConformalDetector (there the score is the p-value), or a pipeline that
        ends in one, with transformers that skl2onnx or this package knows.
    X : rows, optional
        Needed for a pipeline of a data frame with columns of text: the graph then has one input a
        column, under its name. Otherwise it has one input, ``X``.
    dtype : numpy.float32 or numpy.float64

    Returns
    -------
    onnx.ModelProto
        ``open("m.onnx", "wb").write(to_onnx(model).SerializeToString())`` keeps it.
    """
    register()
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    tensor = DoubleTensorType if np.dtype(dtype) == np.float64 else FloatTensorType
    inputs = [("X", tensor([None, int(model.n_features_in_)]))]
    kinds = [getattr(kind, "kind", "O") for kind in getattr(X, "dtypes", [])]  # pandas' own: text
    if hasattr(X, "columns") and not set(kinds) <= set("fiub"):
        inputs = [
            (str(name), tensor([None, 1]) if kind in "fiub" else StringTensorType([None, 1]))
            for name, kind in zip(X.columns, kinds, strict=True)
        ]
    return convert_sklearn(model, initial_types=inputs, final_types=_final_types(tensor))


def register() -> None:
    """Tell skl2onnx about the estimators and transformers of this package."""
    for detector, convert, parse in (
        (LpSVDD, _convert_detector, _parse_detector),
        (WeightedLpSVDD, _convert_detector, _parse_detector),
        (LpSVDDCV, _convert_detector, _parse_search),
        (ConformalDetector, _convert_conformal, _parse_conformal),
    ):
        alias = f"Lpsvdd{detector.__name__}"
        update_registered_converter(detector, alias, _detector_shapes, convert, parser=parse)
    for transformer, graph_of, parser in (
        (Indicators, _indicators, _parse_indicators),
        (PositiveImputer, _imputed, None),
        (PositiveScaler, _scaled, None),
        (UnitNorm, _unit_norm, None),
    ):
        alias = f"Lpsvdd{transformer.__name__}"
        made = _converter(graph_of)
        update_registered_converter(transformer, alias, _rows_shape, made, parser=parser)


def _tensor(kind: Any) -> type:
    return DoubleTensorType if guess_numpy_type(kind) == np.float64 else FloatTensorType


def _final_types(tensor: type) -> list[tuple[str, Any]]:
    kinds = (Int64TensorType, tensor, tensor)
    return [(name, kind([None, 1])) for name, kind in zip(OUTPUTS, kinds, strict=True)]


# -- parsers: which outputs an operator has ---------------------------------------------------


def _declare(
    scope: Any, model: Any, inputs: list[Any], outputs: list[tuple[str, Any]]
) -> list[Any]:
    operator = scope.declare_local_operator(f"Lpsvdd{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    for name, kind in outputs:
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _parse_detector(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    if model.kernel not in ("rbf", "linear", "poly"):
        raise ValueError(
            f"only rbf, linear and poly kernels have an ONNX form, not {model.kernel!r}"
        )
    return _declare(scope, model, inputs, _final_types(_tensor(inputs[0].type)))


def _parse_search(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    return _parse_sklearn(scope, model.best_estimator_, inputs, custom_parsers)


def _parse_conformal(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    scores = []
    for estimator in model.estimators_:
        outputs = _parse_sklearn(scope, estimator, inputs, custom_parsers)
        if len(outputs) != len(OUTPUTS):
            raise ValueError(
                "only a ConformalDetector around LpSVDD has an ONNX form, not one around "
                f"{type(model.estimator).__name__}"
            )
        scores.append(outputs[OUTPUTS.index("score")])
    return _declare(scope, model, scores, _final_types(_tensor(scores[0].type)))


def _parse_indicators(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    known = _parse_sklearn(scope, model.encoder_, inputs, custom_parsers)
    return _declare(scope, model, known, [("indicators", FloatTensorType())])


# -- shapes -----------------------------------------------------------------------------------


def _detector_shapes(operator: Any) -> None:
    for output in operator.outputs:
        output.type.shape = [operator.inputs[0].get_first_dimension(), 1]


def _rows_shape(operator: Any) -> None:
    source, step = operator.inputs[0], operator.raw_operator
    width = len(step.origin()) if isinstance(step, Indicators) else step.n_features_in_
    operator.outputs[0].type = _tensor(source.type)([source.get_first_dimension(), width])


# -- converters -------------------------------------------------------------------------------


class _Graph:
    """Operators of ONNX in one version and one precision."""

    def __init__(self, operator: Any, container: Any):
        self.X, self.version = operator.inputs[0], container.target_opset
        self.dtype = np.float64 if _tensor(self.X.type) is DoubleTensorType else np.float32

    def __call__(self, name: str, *inputs: Any, **options: Any) -> Any:
        """An operator by name; numbers and arrays among its inputs are constants."""
        known = [
            np.atleast_1d(one).astype(self.dtype) if isinstance(one, (float, np.ndarray)) else one
            for one in inputs
        ]
        return getattr(onnx, f"Onnx{name}")(*known, op_version=self.version, **options)


def _converter(graph_of: Callable[[_Graph, Any], Any]) -> Callable[[Any, Any, Any], None]:
    """A transformer's converter, from what it makes of the rows."""

    def convert(scope: Any, operator: Any, container: Any) -> None:
        graph = _Graph(operator, container)
        rows = graph_of(graph, operator.raw_operator)
        named = graph("Identity", rows, output_names=[operator.outputs[0].full_name])
        named.add_to(scope, container)

    return convert


def _imputed(graph: _Graph, step: PositiveImputer) -> Any:
    return graph("Where", graph("IsNaN", graph.X), step.statistics_[None], graph.X)


def _scaled(graph: _Graph, step: PositiveScaler) -> Any:
    return graph("Div", graph("Sub", graph.X, step.mean_[None]), step.scale_[None])


def _unit_norm(graph: _Graph, step: UnitNorm) -> Any:
    """x / max(||x||, tiny): a zero row stays zero."""
    squares = graph("MatMul", graph("Mul", graph.X, graph.X), np.ones((step.n_features_in_, 1)))
    tiny = float(np.finfo(graph.dtype).tiny)
    return graph("Div", graph.X, graph("Max", graph("Sqrt", squares), tiny))


def _indicators(graph: _Graph, step: Indicators) -> Any:
    """The known categories, and 1 - their sum in each column."""
    unknown = graph("Sub", 1.0, graph("MatMul", graph.X, step.sums()))
    return graph("Concat", graph.X, unknown, axis=1)


def _convert_detector(scope: Any, operator: Any, container: Any) -> None:
    graph, svdd = _Graph(operator, container), operator.raw_operator
    _add_outputs(graph, _score(graph, svdd), svdd.offset_, operator, scope, container)


def _score(graph: _Graph, svdd: Any) -> Any:
    """The score as a graph; sums over columns are products with ones, in every version of ONNX."""

    def squares(value: Any, factor: float = 1.0) -> Any:
        # The factor is inside the matrix: onnxruntime would fuse a product behind it into an
        # operator whose factor has single precision.
        return graph(
            "MatMul", graph("Mul", value, value), np.full((svdd.n_features_in_, 1), factor)
        )

    def power(value: Any) -> Any:
        return graph("Pow", graph("Add", value, float(svdd.coef0)), float(svdd.degree))

    if svdd.kernel == "linear":
        return graph("Neg", squares(graph("Sub", graph.X, svdd.centre_[None])))
    rows, coef = svdd.X_fit_[svdd.centre_rows_], svdd.centre_coef_[:, None]
    if svdd.kernel == "rbf":
        distances = onnx_cdist(
            graph.X, rows.astype(graph.dtype), dtype=graph.dtype, op_version=graph.version,
            dim_in=rows.shape[1], dim_out=len(rows),
        )  # fmt: skip
        kernel = graph("Exp", graph("Mul", distances, -svdd.gamma_))
        return graph("Add", graph("MatMul", kernel, 2.0 * coef), -1.0 - svdd.norm_sq_)
    kernel = power(graph("MatMul", graph.X, svdd.gamma_ * rows.T))
    twice = graph("MatMul", kernel, 2.0 * coef)
    return graph("Add", graph("Sub", twice, power(squares(graph.X, svdd.gamma_))), -svdd.norm_sq_)


def _convert_conformal(scope: Any, operator: Any, container: Any) -> None:
    """p = (1 + number of calibration scores that are not above the score) / (n + 1)."""
    graph, model = _Graph(operator, container), operator.raw_operator
    count: Any = 1.0
    for score, calibration in zip(operator.inputs, model.calibration_, strict=True):
        below = graph("Not", graph("Greater", calibration[None], score))
        number = graph("Cast", below, to=11 if graph.dtype == np.float64 else 1)  # DOUBLE, FLOAT
        count = graph("Add", graph("MatMul", number, np.ones((len(calibration), 1))), count)
    p = graph("Div", count, model.n_calibration_ + 1.0)
    _add_outputs(graph, p, model.offset_, operator, scope, container)


def _add_outputs(
    graph: _Graph, score: Any, offset: float, operator: Any, scope: Any, container: Any
) -> None:
    label, score_name, decision_name = ([one.full_name] for one in operator.outputs)
    score = graph("Identity", score, output_names=score_name)
    decision = graph("Sub", score, offset, output_names=decision_name)
    # Of a missing value neither holds, and the row is not accepted.
    inside = graph("Or", graph("Greater", decision, 0.0), graph("Equal", decision, 0.0))
    verdict = graph("Where", inside, 1.0, -1.0)
    graph("Cast", verdict, to=7, output_names=label).add_to(scope, container)  # INT64

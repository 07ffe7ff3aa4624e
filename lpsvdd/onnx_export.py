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


def to_onnx(model: Any, X: Any = None, *, dtype: Any = np.float32, opset: int | None = None) -> Any:
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
    opset : version of ONNX's operators; the newest that skl2onnx knows if absent

    Returns
    -------
    onnx.ModelProto
        ``open("m.onnx", "wb").write(to_onnx(model).SerializeToString())`` keeps it.
    """
    register()
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    tensor = DoubleTensorType if np.dtype(dtype) == np.float64 else FloatTensorType
    mixed = hasattr(X, "columns") and any(kind.kind not in "fiub" for kind in _kinds(X))
    if mixed:
        inputs = [
            (str(name), tensor([None, 1]) if kind.kind in "fiub" else StringTensorType([None, 1]))
            for name, kind in zip(X.columns, _kinds(X), strict=True)
        ]
    else:
        inputs = [("X", tensor([None, int(model.n_features_in_)]))]
    return convert_sklearn(
        model, initial_types=inputs, target_opset=opset, final_types=_final_types(tensor)
    )


def register() -> None:
    """Tell skl2onnx about the estimators and transformers of this package."""
    for detector in (LpSVDD, WeightedLpSVDD):
        update_registered_converter(
            detector,
            f"Lpsvdd{detector.__name__}",
            _detector_shapes,
            _convert_detector,
            parser=_parse_detector,
        )
    update_registered_converter(
        LpSVDDCV, "LpsvddCV", _detector_shapes, _convert_detector, parser=_parse_search
    )
    update_registered_converter(
        ConformalDetector,
        "LpsvddConformal",
        _detector_shapes,
        _convert_conformal,
        parser=_parse_conformal,
    )
    update_registered_converter(
        Indicators,
        "LpsvddIndicators",
        _indicator_shape,
        _convert_indicators,
        parser=_parse_indicators,
    )
    for transformer, convert in (
        (PositiveImputer, _convert_imputer),
        (PositiveScaler, _convert_scaler),
        (UnitNorm, _convert_unit_norm),
    ):
        update_registered_converter(
            transformer, f"Lpsvdd{transformer.__name__}", _same_shape, convert
        )


def _kinds(X: Any) -> list[np.dtype]:
    return [np.dtype(kind) if isinstance(kind, np.dtype) else np.dtype(object) for kind in X.dtypes]


def _final_types(tensor: type) -> list[tuple[str, Any]]:
    kinds = (Int64TensorType, tensor, tensor)
    return [(name, kind([None, 1])) for name, kind in zip(OUTPUTS, kinds, strict=True)]


# -- parsers: which outputs an operator has ---------------------------------------------------


def _declare(scope: Any, model: Any, inputs: list[Any], alias: str) -> list[Any]:
    operator = scope.declare_local_operator(alias, model)
    operator.inputs.extend(inputs)
    tensor = DoubleTensorType if guess_numpy_type(inputs[0].type) == np.float64 else FloatTensorType
    for name, kind in _final_types(tensor):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _parse_detector(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    if model.kernel not in ("rbf", "linear", "poly"):
        raise ValueError(
            f"only rbf, linear and poly kernels have an ONNX form, not {model.kernel!r}"
        )
    return _declare(scope, model, inputs, f"Lpsvdd{type(model).__name__}")


def _parse_search(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    return _parse_sklearn(scope, model.best_estimator_, inputs, custom_parsers)


def _parse_conformal(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    scores = []
    for estimator in model.estimators_:
        found = _parse_sklearn(scope, estimator, inputs, custom_parsers)
        if len(found) != len(OUTPUTS):
            raise ValueError(
                "only a ConformalDetector around LpSVDD has an ONNX form, not one around "
                f"{type(model.estimator).__name__}"
            )
        scores.append(found[OUTPUTS.index("score")])
    return _declare(scope, model, scores, "LpsvddConformal")


def _parse_indicators(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None):
    known = _parse_sklearn(scope, model.encoder_, inputs, custom_parsers)
    operator = scope.declare_local_operator("LpsvddIndicators", model)
    operator.inputs.extend(known)
    operator.outputs.append(scope.declare_local_variable("indicators", FloatTensorType()))
    return operator.outputs


# -- shapes -----------------------------------------------------------------------------------


def _detector_shapes(operator: Any) -> None:
    for output in operator.outputs:
        output.type.shape = [operator.inputs[0].get_first_dimension(), 1]


def _same_shape(operator: Any) -> None:
    source = operator.inputs[0]
    kind = DoubleTensorType if guess_numpy_type(source.type) == np.float64 else FloatTensorType
    operator.outputs[0].type = kind(
        [source.get_first_dimension(), operator.raw_operator.n_features_in_]
    )


def _indicator_shape(operator: Any) -> None:
    width = len(operator.raw_operator.origin())
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = FloatTensorType([rows, width])


# -- converters -------------------------------------------------------------------------------


def _convert_detector(scope: Any, operator: Any, container: Any) -> None:
    X, version, dtype = _input(operator, container)
    svdd = operator.raw_operator
    _add_outputs(_score(svdd, X, dtype, version), svdd.offset_, dtype, operator, scope, container)


def _score(svdd: Any, X: Any, dtype: Any, version: int) -> Any:
    """The score as a graph; sums over columns are products with ones, in every version of ONNX."""

    def number(value: Any) -> np.ndarray:
        return np.atleast_1d(np.asarray(value, dtype=dtype))

    def matmul(left: Any, right: np.ndarray) -> Any:
        return onnx.OnnxMatMul(left, right.astype(dtype), op_version=version)

    def add(left: Any, value: Any) -> Any:
        return onnx.OnnxAdd(left, number(value), op_version=version)

    def squares(value: Any, factor: float = 1.0) -> Any:
        # The factor is inside the matrix: onnxruntime would fuse a product behind it into an
        # operator whose factor has single precision.
        product = onnx.OnnxMul(value, value, op_version=version)
        return matmul(product, np.full((svdd.n_features_in_, 1), factor))

    def power(value: Any) -> Any:
        return onnx.OnnxPow(add(value, svdd.coef0), number(svdd.degree), op_version=version)

    if svdd.kernel == "linear":
        difference = onnx.OnnxSub(X, svdd.centre_[None].astype(dtype), op_version=version)
        return onnx.OnnxNeg(squares(difference), op_version=version)
    rows, coef = svdd.X_fit_[svdd.centre_rows_], svdd.centre_coef_[:, None]
    if svdd.kernel == "rbf":
        distances = onnx_cdist(
            X, rows.astype(dtype), dtype=dtype, op_version=version,
            dim_in=rows.shape[1], dim_out=len(rows),
        )  # fmt: skip
        scaled = onnx.OnnxMul(distances, number(-svdd.gamma_), op_version=version)
        kernel, diagonal = onnx.OnnxExp(scaled, op_version=version), None
    else:
        kernel = power(matmul(X, svdd.gamma_ * rows.T))
        diagonal = power(squares(X, svdd.gamma_))
    twice = matmul(kernel, 2.0 * coef)
    if diagonal is None:
        return add(twice, -1.0 - svdd.norm_sq_)
    return add(onnx.OnnxSub(twice, diagonal, op_version=version), -svdd.norm_sq_)


def _convert_conformal(scope: Any, operator: Any, container: Any) -> None:
    """p = (1 + number of calibration scores that are not above the score) / (n + 1)."""
    _, version, dtype = _input(operator, container)
    model, count = operator.raw_operator, None
    for score, calibration in zip(operator.inputs, model.calibration_, strict=True):
        above = onnx.OnnxGreater(calibration[None].astype(dtype), score, op_version=version)
        below = onnx.OnnxCast(
            onnx.OnnxNot(above, op_version=version),
            to=11 if dtype == np.float64 else 1,  # TensorProto.DOUBLE, FLOAT
            op_version=version,
        )
        ones = np.ones((len(calibration), 1), dtype=dtype)
        part = onnx.OnnxMatMul(below, ones, op_version=version)
        count = part if count is None else onnx.OnnxAdd(count, part, op_version=version)
    total = np.array([model.n_calibration_ + 1], dtype=dtype)
    one = np.array([1], dtype=dtype)
    p = onnx.OnnxDiv(onnx.OnnxAdd(count, one, op_version=version), total, op_version=version)
    _add_outputs(p, model.offset_, dtype, operator, scope, container)


def _add_outputs(
    score: Any, offset: float, dtype: Any, operator: Any, scope: Any, container: Any
) -> None:
    version = container.target_opset
    label, score_out, decision_out = operator.outputs
    threshold = np.array([offset], dtype=dtype)
    kept = onnx.OnnxIdentity(score, op_version=version, output_names=[score_out.full_name])
    decision = onnx.OnnxSub(
        kept, threshold, op_version=version, output_names=[decision_out.full_name]
    )
    zero = np.array([0], dtype=dtype)
    inside = onnx.OnnxOr(  # of a missing value neither holds, and the row is not accepted
        onnx.OnnxGreater(decision, zero, op_version=version),
        onnx.OnnxEqual(decision, zero, op_version=version),
        op_version=version,
    )
    verdict = onnx.OnnxWhere(
        inside,
        np.array([1], dtype=np.int64),
        np.array([-1], dtype=np.int64),
        op_version=version,
        output_names=[label.full_name],
    )
    verdict.add_to(scope, container)


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    X, version, dtype = _input(operator, container)
    statistics = operator.raw_operator.statistics_[None].astype(dtype)
    filled = onnx.OnnxWhere(
        onnx.OnnxIsNaN(X, op_version=version), statistics, X,
        op_version=version, output_names=[operator.outputs[0].full_name],
    )  # fmt: skip
    filled.add_to(scope, container)


def _convert_indicators(scope: Any, operator: Any, container: Any) -> None:
    """The known categories, and 1 - their sum in each column."""
    known, version, dtype = _input(operator, container)
    sums = operator.raw_operator.sums().astype(dtype)
    met = onnx.OnnxMatMul(known, sums, op_version=version)
    unknown = onnx.OnnxSub(np.array([1], dtype=dtype), met, op_version=version)
    joined = onnx.OnnxConcat(
        known, unknown, axis=1,
        op_version=version, output_names=[operator.outputs[0].full_name],
    )  # fmt: skip
    joined.add_to(scope, container)


def _convert_scaler(scope: Any, operator: Any, container: Any) -> None:
    X, version, dtype = _input(operator, container)
    scaler = operator.raw_operator
    centred = onnx.OnnxSub(X, scaler.mean_[None].astype(dtype), op_version=version)
    scaled = onnx.OnnxDiv(
        centred, scaler.scale_[None].astype(dtype),
        op_version=version, output_names=[operator.outputs[0].full_name],
    )  # fmt: skip
    scaled.add_to(scope, container)


def _convert_unit_norm(scope: Any, operator: Any, container: Any) -> None:
    """x / max(||x||, tiny): a zero row stays zero."""
    X, version, dtype = _input(operator, container)
    ones = np.ones((operator.raw_operator.n_features_in_, 1), dtype=dtype)
    square = onnx.OnnxMul(X, X, op_version=version)
    norm = onnx.OnnxSqrt(onnx.OnnxMatMul(square, ones, op_version=version), op_version=version)
    least = np.array([np.finfo(dtype).tiny], dtype=dtype)
    scaled = onnx.OnnxDiv(
        X, onnx.OnnxMax(norm, least, op_version=version),
        op_version=version, output_names=[operator.outputs[0].full_name],
    )  # fmt: skip
    scaled.add_to(scope, container)


def _input(operator: Any, container: Any) -> tuple[Any, int, Any]:
    dtype = np.float64 if guess_numpy_type(operator.inputs[0].type) == np.float64 else np.float32
    return operator.inputs[0], container.target_opset, dtype

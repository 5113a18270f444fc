"""Covariances learned from steps: they stretch along these, and stacks of them are alike."""

import numpy as np
import pytest

from geoduel.methods.descent.covariance import Covariance, Factors, cumulated


@pytest.mark.parametrize("metric", [Covariance.of(np.eye(20)), Factors.empty(20)])
def test_steps_that_agree_stretch_the_metric_their_way(metric):
    h = np.sqrt(20) * np.eye(20)[0]
    for k in range(60):
        metric = metric.learn(h, True, k, 2)
    across = np.linalg.norm(metric @ np.eye(20)[1])
    assert np.linalg.norm(metric @ np.eye(20)[0]) > 2 * across


def test_before_the_first_step_no_direction_is_preferred():
    z = np.random.default_rng(0).standard_normal((3, 20))
    for metric in (Covariance.of(np.eye(20)), Factors.empty(20)):
        np.testing.assert_array_equal(metric @ z, z)
        np.testing.assert_array_equal(metric.solve(z[0]), z[0])
        assert metric.trace == pytest.approx(20)


def test_the_root_of_the_covariance_is_a_root():
    rng = np.random.default_rng(0)
    metric = Covariance.of(np.eye(4))
    for k in range(30):  # in four dimensions the root is never late
        metric = metric.learn(rng.standard_normal(4), True, k, 2)
    np.testing.assert_allclose(metric.A @ metric.A.T, metric.C, rtol=1e-12, atol=1e-12)


def test_stacks_are_problems_of_their_own():
    rng = np.random.default_rng(1)
    many = Covariance(*(np.stack([part] * 3) for part in Covariance.of(np.eye(5))))
    each = [Covariance.of(np.eye(5))] * 3
    k = np.array([0, 1, 7])
    for _ in range(20):
        h, steady = rng.standard_normal((3, 5)), rng.random(3) < 0.5
        many = many.learn(h, steady, k, 2)
        each = [a.learn(*one, 2) for a, *one in zip(each, h, steady, k.tolist(), strict=True)]
        k = k + 1
    for parts, one in zip(zip(*many, strict=True), each, strict=True):
        for a, b in zip(parts, one, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(many.trace, [one.trace for one in each])


def test_steps_that_go_on_lengthen_and_steps_that_turn_back_shorten():
    on = back = np.zeros(10)
    longer, shorter, steady = 0.0, 0.0, False
    h = np.sqrt(10) * np.eye(10)[0]
    for k in range(30):
        on, _, longer = cumulated(on, h, k, 2)
        back, steady, shorter = cumulated(back, (-1) ** k * h, k, 2)
    assert shorter < 0 < longer
    assert steady


def test_steps_get_longer_by_a_factor_of_e_at_most():
    """|p| is compared with the mean of |N(0, I)|; on it, the length stays."""
    d, m, h = 4, 2, np.zeros(4)
    c = (m + 2) / (d + m + 5)
    normal = 2 * (1 - 1 / 16 + 1 / 336)
    for length in (0.0, 0.5, 1.0, 2.0, 1e3):
        start = np.array([length * normal, 0, 0, 0]) / (1 - c)
        path, steady, power = cumulated(start, h, 50, m)
        np.testing.assert_allclose(path, [length * normal, 0, 0, 0])
        assert power == pytest.approx(min(1.0, c / (1 + c) * (length - 1)))
        assert steady == (length < 1.8)

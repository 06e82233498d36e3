"""What a consumer warns of while it is imported is no defect of this project."""

from __future__ import annotations

import warnings

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (yield)

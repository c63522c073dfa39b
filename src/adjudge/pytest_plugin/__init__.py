"""The pytest plugin: judging inside tests with the fixture `judge`.

pytest loads this file in every project that has Adjudge installed, so it imports no other module of Adjudge
before a test uses `judge`, and its hooks do almost nothing until then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..judge import Judge
    from .judge_fixture import Configured, CurrentTest

__all__ = ["judge"]

_SESSION = "adjudge-session"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("adjudge", "adjudge: LLM judges in tests (the fixture judge)")
    group.addoption("--adjudge-model", metavar="MODEL", help="the judge model, as -m of adjudge run")
    group.addoption(
        "--adjudge-store",
        metavar="FILE",
        help="the store; default: adjudge.db in the root folder",
    )
    parser.addini(
        "adjudge_model", "the judge model, where neither --adjudge-model nor ADJUDGE_MODEL names one"
    )
    parser.addini(
        "adjudge_store",
        "the store, relative to the root folder, where neither --adjudge-store nor ADJUDGE_STORE "
        "names one; default: adjudge.db",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Session(), _SESSION)


@pytest.fixture(scope="session")
def judge(pytestconfig: pytest.Config) -> Iterator[Judge]:
    """Score a text with an LLM judge: judge("geval/score", task=…, response=…).score"""
    from .judge_fixture import JudgeInTests

    session: Any = pytestconfig.pluginmanager.get_plugin(_SESSION)
    fixture = JudgeInTests(_configured(pytestconfig), session.current)
    yield fixture
    fixture.close_all()


def _configured(config: pytest.Config) -> Configured:
    """The model and the store: the command line overrides the environment, and that the configuration
    file."""
    from .judge_fixture import Configured, with_absolute_file

    started_in = config.invocation_params.dir
    model = config.getoption("adjudge_model") or os.environ.get("ADJUDGE_MODEL")
    if model and started_in != config.rootpath:
        model = with_absolute_file(model, started_in)
    file = config.getoption("adjudge_store") or os.environ.get("ADJUDGE_STORE")
    store = started_in / file if file else config.rootpath / (config.getini("adjudge_store") or "adjudge.db")
    return Configured(model or config.getini("adjudge_model") or None, store, config.rootpath)


class _Session:
    """What the running test has judged, and the rows of all tests for the summary."""

    def __init__(self) -> None:
        self._nodeid = ""
        self._test: CurrentTest | None = None
        self._rows: list[dict[str, Any]] = []

    def current(self) -> CurrentTest:
        """The test that is running."""
        from .judge_fixture import CurrentTest

        if self._test is None:
            self._test = CurrentTest(self._nodeid)
        return self._test

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        # Also before a retry of a test: it judges the same items, not further ones.
        self._nodeid, self._test = item.nodeid, None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        if self._test is None:
            yield
            return
        from .failed_test import explained, section
        from .summary import summary_rows

        folder = item.config.invocation_params.dir
        call.excinfo = explained(call.excinfo, self._test, folder)
        outcome: Any = yield
        report = outcome.get_result()
        # pytest-xdist sends reports with their attributes to the process that prints.
        report.adjudge = summary_rows(item.nodeid, self._test.take_new())
        if report.failed and self._test.uses:
            report.sections.append(("adjudge", section(self._test.uses, folder)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._rows.extend(getattr(report, "adjudge", ()))

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if self._rows:
            from .summary import summary_table

            terminalreporter.section("adjudge")
            is_long = config.get_verbosity() > 0
            for line in summary_table(self._rows, terminalreporter._tw.fullwidth, is_long=is_long):
                terminalreporter.write_line(line)


_ANNOTATIONS = {"Judge": "Judge", "NoScore": "NoScore", "Outcome": "Verdict", "Outcomes": "Verdicts"}
"""Names that tests import for annotations; `Verdict` was called `Outcome` before."""


def __getattr__(name: str) -> Any:
    import adjudge

    if name not in _ANNOTATIONS:
        raise AttributeError(f"module 'adjudge.pytest_plugin' has no attribute {name!r}")
    return getattr(adjudge, _ANNOTATIONS[name])

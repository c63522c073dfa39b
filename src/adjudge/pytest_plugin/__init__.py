"""The pytest plugin: judging inside tests with the fixture `judge`.

pytest loads this file in every project that has Adjudge installed, so it imports nothing of ours before a test asks for
`judge`, and its hooks do next to nothing until then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .judge_fixture import CurrentTest, Judge, Places
    from .outcome import NoScore, Outcome, Outcomes

__all__ = ["Judge", "NoScore", "Outcome", "Outcomes", "judge"]

_SESSION = "adjudge-session"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("adjudge", "adjudge: LLM judges in tests (the fixture judge)")
    group.addoption("--adjudge-model", metavar="MODEL", help="the judge that is asked; as -m of adjudge run")
    group.addoption(
        "--adjudge-store",
        metavar="FILE",
        help="the file that keeps replies; default: adjudge.db in the root folder",
    )
    parser.addini("adjudge_model", "the judge, where neither --adjudge-model nor ADJUDGE_MODEL names one")
    parser.addini("adjudge_store", "the file that keeps replies, from the root folder; default: adjudge.db")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Session(), _SESSION)


@pytest.fixture(scope="session")
def judge(pytestconfig: pytest.Config) -> Iterator[Judge]:
    """Score a text with an LLM judge: judge("geval/score", task=…, response=…).score"""
    from .judge_fixture import Judge

    session: Any = pytestconfig.pluginmanager.get_plugin(_SESSION)
    made = Judge(_places(pytestconfig), session.current)
    yield made
    made.close()


def _places(config: pytest.Config) -> Places:
    """What was configured: the command line goes before the environment, and that before the file."""
    from .judge_fixture import Places, anchored

    started_in = config.invocation_params.dir
    model = config.getoption("adjudge_model") or os.environ.get("ADJUDGE_MODEL")
    if model and started_in != config.rootpath:
        model = anchored(model, started_in)
    given = config.getoption("adjudge_store")
    store = (
        started_in / given if given else config.rootpath / (config.getini("adjudge_store") or "adjudge.db")
    )
    return Places(model or config.getini("adjudge_model") or None, store, config.rootpath)


class _Session:
    """What is judged while pytest runs: by the test that is running here, and by all, for the summary."""

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
        # Also before a test is run once more: it judges the same items again, not further ones.
        self._nodeid, self._test = item.nodeid, None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        if self._test is None:
            yield
            return
        from .summary import explained, rows_of, section

        folder = item.config.invocation_params.dir
        call.excinfo = explained(call.excinfo, self._test, folder)
        outcome: Any = yield
        report = outcome.get_result()
        # Reports travel from the processes of pytest-xdist to the one that prints, with what they hold.
        report.adjudge = rows_of(item.nodeid, self._test.take_new())
        if report.failed and self._test.told:
            report.sections.append(("adjudge", section(self._test.told, folder)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._rows.extend(getattr(report, "adjudge", ()))

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if self._rows:
            from .summary import summary

            terminalreporter.section("adjudge")
            is_long = config.get_verbosity() > 0
            for line in summary(self._rows, terminalreporter._tw.fullwidth, is_long=is_long):
                terminalreporter.write_line(line)


def __getattr__(name: str) -> Any:
    # For annotations in users' tests; imported only when somebody asks.
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'adjudge.pytest_plugin' has no attribute {name!r}")
    return getattr(import_module(".judge_fixture" if name == "Judge" else ".outcome", __name__), name)

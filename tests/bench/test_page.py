"""The page: one file, its pictures inside, every method and problem named."""

import re

import pytest

from geoduel.bench import changes
from geoduel.bench.page import write_page

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


@pytest.fixture
def records(record):
    return [
        record([10 + seed, 40, None], seed=seed, method=method, problem=problem, group=group)
        for seed in range(2)
        for method in ("auto", "pycma")
        for problem, group in (("bowl", "bowls"), ("valley", "valleys"))
    ] + [record([None] * 3, method="bisection", stop="refused: dimension", duels=0)]


def test_the_page_has_pictures_tables_and_a_comparison(records, tmp_path):
    before = [{**record, "seconds": 1e3} for record in records]
    page = write_page(records, tmp_path, changes(records, before)).read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert not re.findall(r'src="(?!data:)', page)  # nothing is loaded from elsewhere
    for word in ("auto", "pycma", "bisection", "bowls", "valleys", "1 refused", "Against"):
        assert word in page
    assert (tmp_path / "tables" / "toys-area.csv").read_text().startswith("group,auto,pycma")


@pytest.mark.slow
def test_many_methods_and_groups_fit(record, tmp_path):
    many = [record([5], method=f"m{i}", group=f"g{i % 7}", problem=f"p{i % 7}") for i in range(20)]
    assert write_page(many, tmp_path).is_file()

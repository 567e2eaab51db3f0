"""A short year: what scripts/fault --year does for an hour."""

import pytest

from year import draw, live


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.fault("J7")
def test_j7_an_index_of_a_year_answers_as_a_fresh_one():
    rows, _ = live(3000, lambda row: None, model_part=-1)
    assert [row.differences for row in rows] == [()] * len(rows)
    assert max(row.descriptors for row in rows) <= rows[0].descriptors + 10
    assert {row.inotify for row in rows} == {1}
    assert draw(rows).count("<polyline") == 5

"""The measurement of the page of jobs itself, on a short queue."""

from __future__ import annotations

from benchmarks import bench_job_pages


def test_the_page_of_jobs_is_measured() -> None:
    results = bench_job_pages.run(queued=30)
    assert (results["queued"], results["shown"]) == (30, 30)
    assert results["ratios"]["page_to_empty"] > 0
    assert bench_job_pages.checks(results)["the queue that is shown is the one that was made"]
    slow = results | {"ratios": {"page_to_empty": bench_job_pages.LIMIT + 0.1}}
    assert list(bench_job_pages.checks(slow).values()) == [True, False]

"""joblib, scikit-learn, Dask and Snakemake, as Debian has them, on an instance."""
import gc
import os
import shutil
import subprocess
import sys

import pytest
from conftest import HOLON, PATIENCE, wait_until

import holon


@pytest.fixture
def here(uri, monkeypatch):
    """The instance is found without an address."""
    monkeypatch.setenv("HOLON_URI", uri)
    return uri


def square(x):
    return x * x


def fail(x):
    raise LookupError("no %r" % x)


def test_joblib_runs_in_workers_that_are_jobs(here, instance):
    import joblib
    from holon.adapters.joblib import register

    register()
    with joblib.parallel_backend("holon", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(square)(i) for i in range(100)) == [i * i for i in range(100)]
        pids = set(joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(4)))
        assert os.getpid() not in pids and pids <= {pid for job in instance.jobs() for pid in job.pids}
        with pytest.raises(LookupError, match="no 3"):
            joblib.Parallel()(joblib.delayed(fail)(i) for i in (3,))
    gc.collect()  # an exception keeps what it passed through; the first workers hold cores until then
    with joblib.parallel_backend("holon", n_jobs=-1, resource_dict={"cores": 2}):
        assert joblib.effective_n_jobs() == 2
        assert joblib.Parallel()(joblib.delayed(lambda: os.environ["HOLON_NTASKS"])() for _ in range(2)) == ["1", "1"]


def test_scikit_learn_fits_and_searches_with_it(here):
    import joblib
    from holon.adapters.joblib import register
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    register()
    x, y = load_iris(return_X_y=True)
    with joblib.parallel_backend("holon", n_jobs=2):
        forest = RandomForestClassifier(n_estimators=10, random_state=1, n_jobs=2).fit(x, y)
        search = GridSearchCV(SVC(), {"C": [1, 10]}, cv=2, n_jobs=2).fit(x, y)
    assert forest.score(x, y) > 0.9 and search.best_score_ > 0.9


def test_dask_graphs_run_in_an_executor(uri):
    import dask
    import dask.array
    import dask.bag
    from holon.adapters.dask import get

    with holon.Executor(2, uri) as executor:
        total = dask.array.arange(1000, chunks=100).sum()
        assert total.compute(scheduler=executor) == 499500
        with dask.config.set(scheduler=get(executor)):
            assert total.compute() == 499500
            assert dask.bag.from_sequence(range(10), npartitions=3).map(square).sum().compute() == 285
            assert dask.compute(dask.delayed(square)(3), dask.delayed(square)(4)) == (9, 16)
            with pytest.raises(LookupError):
                dask.delayed(fail)(1).compute()


def test_dask_workers_are_jobs_that_come_and_go(uri, instance):
    import distributed
    from holon.adapters.dask import HolonCluster

    def workers():
        return [job for job in instance.jobs() if job.name == "dask-worker"]

    with HolonCluster(uri=uri, cores=1, limit="1h") as cluster, distributed.Client(cluster) as client:
        cluster.scale(2)
        client.wait_for_workers(2, timeout=PATIENCE)
        assert len(workers()) == 2 and {job.limit for job in workers()} == {3_600_000}
        assert client.gather(client.map(square, range(20))) == [i * i for i in range(20)]
        cluster.scale(0)
        wait_until(lambda: not workers(), "workers stay")
        cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=2)
        assert client.submit(square, 5).result(timeout=PATIENCE) == 25  # a worker comes for it
        assert workers()
        wait_until(lambda: not workers(), "workers stay without work")
    assert workers() == []


SNAKEFILE = """
rule all:
    input: "total"
rule part:
    output: "part.{i}"
    threads: 2
    resources: runtime=5
    shell: "echo {wildcards.i} $HOLON_JOB_ID >{output}"
rule total:
    input: expand("part.{i}", i=range(2))
    output: "total"
    shell: "cat {input} >{output}"
rule wrong:
    output: "never"
    shell: "exit 3"
"""


@pytest.fixture
def snakemake(uri, tmp_path):
    subprocess.run([sys.executable, "-m", "holon.adapters.snakemake", str(tmp_path / "profile")], check=True)
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    env = {**os.environ, "HOLON_URI": uri, "PATH": os.path.dirname(HOLON) + ":/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(*words):
        return subprocess.run(["/usr/bin/snakemake", "--profile", str(tmp_path / "profile"), *words], env=env, cwd=tmp_path,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    return run


def test_snakemake_submits_watches_and_collects(snakemake, instance, tmp_path):
    ran = snakemake()
    assert ran.returncode == 0, ran.stdout
    lines = [line.split() for line in (tmp_path / "total").read_text().splitlines()]
    assert [line[0] for line in lines] == list("01")
    records = [instance.job(int(line[1])).record() for line in lines]
    assert {(r.name, r.ncores, r.limit, r.result) for r in records} == {("part", 2, 300_000, "COMPLETED")}


def test_snakemake_is_told_of_failures(snakemake):
    ran = snakemake("never")
    assert ran.returncode == 1 and "Error in rule wrong" in ran.stdout, ran.stdout


def test_a_profile_is_not_written_over_another_one(tmp_path):
    ran = subprocess.run([sys.executable, "-m", "holon.adapters.snakemake", str(tmp_path)], stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 1 and "File exists" in ran.stderr
    assert subprocess.run([sys.executable, "-m", "holon.adapters.snakemake"], stderr=subprocess.PIPE).returncode == 1
    assert shutil.which("snakemake")

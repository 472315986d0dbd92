"""CPython's own tests of executors (test.test_concurrent_futures), run against holon.Executor.

What does not apply, and why:

  test_interpreter_shutdown, test_submit_after_interpreter_shutdown, test_hang_gh83386
      start a program that takes the executor from concurrent.futures by its name, and read what its calls print: ours print into
      their jobs' output. test_executor.py has programs that end with calls on their way.
  FailingInitializerMixin          looks at the private _broken, and at a log of multiprocessing's. In test_executor.py.
  test_traceback                   asks for a private class of concurrent.futures.process as the cause. In test_executor.py.
  test_saturation, test_idle_process_reuse_*, test_killed_child, test_max_tasks_*, test_max_workers_too_large,
  test_ressources_gced_in_workers, ProcessPoolShutdownTest, test_shutdown_deadlock_pickle
      look at processes, threads, semaphores and managers of multiprocessing.
  ThreadPool*                      calls of threads, which share memory with the program.
  FutureTests                      are about futures alone.

What differs: a call whose arguments or result cannot be unpickled fails with what unpickling raised, and costs no worker; a process
pool breaks as a whole.
"""
import concurrent.futures
import pickle
import unittest.mock

import pytest
from test import test_concurrent_futures as suite

import holon


@pytest.fixture(scope="module")
def uri(module_sandbox):
    return module_sandbox.start("--no-journal", cores=8)


@pytest.fixture(scope="class", autouse=True)
def of_the_instance(request, uri):
    holon.Instance.connect(uri).close()  # the thread that stays is there before a test counts threads
    if request.cls is not None:
        request.cls.executor_kwargs = {"instance": uri}
        request.cls.uri = uri


class HolonMixin(suite.ExecutorMixin):
    executor_type = holon.Executor


class TestWait(HolonMixin, suite.WaitTests, suite.BaseTestCase):
    pass


class TestAsCompleted(HolonMixin, suite.AsCompletedTests, suite.BaseTestCase):
    pass


class TestExecutor(HolonMixin, suite.ExecutorTest, suite.BaseTestCase):
    test_map_chunksize = suite.ProcessPoolExecutorTest.test_map_chunksize


class TestShutdown(HolonMixin, suite.ExecutorShutdownTest, suite.BaseTestCase):
    test_interpreter_shutdown = None
    test_submit_after_interpreter_shutdown = None
    test_hang_gh83386 = None

    def test_cancel_futures(self):
        self.executor.submit(pow, 2, 2).result()  # ours begin with the first call, and take longer to
        super().test_cancel_futures()


class TestInitializer(HolonMixin, suite.InitializerMixin, suite.BaseTestCase):
    def setUp(self):
        kwargs = {"instance": self.uri, "initializer": suite.init, "initargs": ("initialized",)}
        with unittest.mock.patch.object(type(self), "executor_kwargs", kwargs):
            HolonMixin.setUp(self)


class TestDeadlock(HolonMixin, suite.ExecutorDeadlockTest, suite.BaseTestCase):
    test_shutdown_deadlock_pickle = None

    def setUp(self):
        super().setUp()
        patched = unittest.mock.patch.object(suite, "BrokenProcessPool", concurrent.futures.BrokenExecutor)
        patched.start()
        self.addCleanup(patched.stop)

    def executor_type(self, max_workers, mp_context=None, **kwargs):
        return holon.Executor(max_workers, **{"instance": self.uri, **kwargs})

    def get_context(self):
        return None

    def _fail_on_deadlock(self, executor):
        self.fail("no answer within %g s" % self.TIMEOUT)

    def test_exit_at_task_unpickle(self):
        self._check_crash(SystemExit, id, suite.ExitAtUnpickle())

    def test_error_at_task_unpickle(self):
        self._check_crash(pickle.UnpicklingError, id, suite.ErrorAtUnpickle())

    def test_error_during_result_unpickle_in_result_handler(self):
        self._check_crash(pickle.UnpicklingError, suite._return_instance, suite.ErrorAtUnpickle, ignore_stderr=True)

    def test_exit_during_result_unpickle_in_result_handler(self):
        self._check_crash(SystemExit, suite._return_instance, suite.ExitAtUnpickle)

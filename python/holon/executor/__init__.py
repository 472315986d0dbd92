"""holon.Executor: functions in warm workers, which are jobs of an instance."""
from .executor import Executor
from .tasks import WorkerLost

__all__ = ["Executor", "WorkerLost"]

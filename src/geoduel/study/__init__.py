"""Studies: questions now, answers when they come.

`create_study` makes one, `Study.ask` returns the next question and `Study.tell` takes its answer,
today or next week, from a person, a lab or a crowd. A study is a log of these events, in memory or
in a database. The method is replayed from it: nothing is lost, and no process has to stay alive.
"""

from .create import copy_study, create_study, delete_study, import_study, load_study, study_names
from .crowd import Camp, Disagreement
from .raters import Rater
from .records import Duel, Progress, Upgrade
from .storage.base import Storage
from .storage.memory import MemoryStorage
from .study import Study
from .summary import Summary, study_summary

__all__ = [
    "Camp",
    "Disagreement",
    "Duel",
    "MemoryStorage",
    "Progress",
    "Rater",
    "Storage",
    "Study",
    "Summary",
    "Upgrade",
    "copy_study",
    "create_study",
    "delete_study",
    "import_study",
    "load_study",
    "study_names",
    "study_summary",
]

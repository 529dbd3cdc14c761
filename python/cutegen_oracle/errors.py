"""Errors as the C++ side knows them, and user exceptions told the way Python tells them."""

import contextlib
import os
import re
import traceback

USER_ERROR = "invalid_input"
OUT_OF_MEMORY = "out_of_memory"
UNSUPPORTED = "unsupported"
INTERNAL = "internal"
DEVICE = "device"
PROTOCOL = "protocol"
TIMEOUT = "timeout"


class DeadlinePassed(BaseException):
    """A time limit of ours; not an Exception, so that nobody in between takes it for a failure of his own."""


class OracleError(Exception):
    """code: one of the constants above; message: one sentence; detail: a traceback, trimmed to the user's frames."""

    def __init__(self, code, message, hint="", detail=""):
        super().__init__(message)
        self.code, self.message, self.hint, self.detail = code, message, hint, detail

    def to_json(self):
        return {"code": self.code, "message": self.message, "hint": self.hint, "detail": self.detail}


def is_out_of_memory(error):
    """CPU allocator, MemoryError and CUDA each have their own way of saying it."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and any(
        phrase in text for phrase in ("out of memory", "can't allocate memory", "CUDA_ERROR_OUT_OF_MEMORY"))


def is_device_failure(error):
    """A CUDA error is sticky: the process that saw it cannot use the GPU again."""
    return "CUDA error" in str(error)


def out_of_memory(what, error):
    asked = re.search(r"allocate ([0-9.]+ ?(?:bytes|[KMG]iB))", str(error))
    size = f" (tried to allocate {asked.group(1)})" if asked else ""
    return OracleError(OUT_OF_MEMORY, f"out of memory while {what}{size}",
                       "the task needs more memory than this device has; use a larger device or smaller shapes", first_line(error))


def first_line(error):
    text = str(error).strip()
    return text.splitlines()[0] if text else ""


def user_frames(error, path):
    """The frames of `error` that lie in the user's file or beside it, outermost first."""
    folder = os.path.dirname(os.path.abspath(path)) + os.sep
    return [f for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename).startswith(folder)]


def user_traceback(error, path):
    """The traceback as Python prints it, without our frames and torch's."""
    frames = user_frames(error, path)
    lines = traceback.format_exception_only(type(error), error)
    if frames:
        lines = ["Traceback (most recent call last):\n"] + traceback.format_list(frames) + lines
    return "".join(lines)


def user_error(error, path, what):
    """The OracleError for an exception that the user's code raised while doing `what`."""
    name = os.path.basename(path)
    if isinstance(error, SyntaxError) and error.filename and os.path.abspath(error.filename) == os.path.abspath(path):
        where = f"{name}:{error.lineno}"
        return OracleError(USER_ERROR, f"{where}: {type(error).__name__}: {error.msg}", "", user_traceback(error, path))
    frames = user_frames(error, path)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else name
    if isinstance(error, SystemExit):
        said = f"sys.exit({'' if error.code is None else repr(error.code)}) was called"
    else:
        text = first_line(error)
        said = type(error).__name__ + (f": {text}" if text else "")
    return OracleError(USER_ERROR, f"{where}: {said} ({what})", "", user_traceback(error, path))


@contextlib.contextmanager
def running_user_code(path, what):
    """Turns whatever the user's code throws, SystemExit included, into an OracleError that says where and while doing what."""
    try:
        yield
    except OracleError:
        raise
    except DeadlinePassed:
        raise
    except BaseException as error:  # noqa: B902 - a user's file may raise anything
        if is_out_of_memory(error):
            raise out_of_memory(what, error) from error
        raise user_error(error, path, what) from error

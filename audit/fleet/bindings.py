"""Cuts NVIDIA's Python bindings down to what the collector calls: whole, compiling them costs a node 7 to 19 MiB.

Reads text, gives text; the statements that stay are the originals, in their order, below the original licence.
"""

import ast
import re
from collections.abc import Iterable

# What the bindings need at import, whoever calls them, and every error by its name.
ALWAYS = re.compile(r"NVML_ERROR_\w+|NVMLError\w*|nvmlInitWithFlags|nvmlShutdown")
NAMES = re.compile(r"\b_?(?:nvml|NVML|c_nvml)\w*")


def cut_down(bindings: str, callers: Iterable[str]) -> str:
    """The bindings' source with only what `callers` (sources) name, and what that needs in turn."""
    statements = ast.parse(bindings).body
    made = [_made(statement) for statement in statements]
    wanted = {name for source in callers for name in NAMES.findall(source)}
    keep: set[int] = set()
    waiting = [
        i
        for i, names in enumerate(made)
        if not names or any(name in wanted or ALWAYS.fullmatch(name) for name in names)
    ]
    by_name: dict[str, list[int]] = {}
    for i, names in enumerate(made):
        for name in names:
            by_name.setdefault(name, []).append(i)
    while waiting:
        i = waiting.pop()
        if i in keep:
            continue
        keep.add(i)
        for node in ast.walk(statements[i]):
            if isinstance(node, ast.Name):
                waiting.extend(by_name.get(node.id, ()))
    used = {node.id for i in keep for node in ast.walk(statements[i]) if isinstance(node, ast.Name)}
    keep -= {i for i in keep if _unused_import(statements[i], used)}
    header = bindings[: bindings.index("\nfrom ctypes")]
    return header + "\n" + "\n".join(ast.unparse(_bare(statements[i])) for i in sorted(keep)) + "\n"


def _made(statement: ast.stmt) -> set[str]:
    """The names a top-level statement makes; empty for one that only acts."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return set()


def _unused_import(statement: ast.stmt, used: set[str]) -> bool:
    """Whether this imports nothing that is used (`ctypes.util` alone brings `subprocess` in)."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return False
    return not any(name.name == "*" or (name.asname or name.name) in used for name in statement.names)


def _bare(statement: ast.stmt) -> ast.stmt:
    """The statement without docstrings."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return statement

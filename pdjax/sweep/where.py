"""Conditions on cells: `sweep.where`, `--where='strategy.chunk_size <= 512'`.

A condition is an expression in Python's notation over the fields of a resolved
run, by dotted path, besides `case` and `repeat`: comparisons, `in`, `and`,
`or`, `not`, + - * / // % of numbers, strings, tuples, `none`, `true`, `false`.
Nothing is called and nothing else can be named.
"""

import ast
import dataclasses
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from pdjax import schema
from pdjax.config import ConfigError
from pdjax.fieldtypes import shown
from pdjax.unknown import Withheld

_OWN = ("case", "repeat")
_WORDS = {"none": None, "true": True, "false": False}
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LONGEST_BITS = 1024
"""Of a whole number that arithmetic may give: those of a double's range."""
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos,
}


class Cell(Protocol):
  """A combination on its way to a cell."""

  @property
  def name(self) -> str: ...

  def value(self, path: str) -> Any: ...


Asked = TypeVar("Asked", bound=Cell)


@dataclasses.dataclass(frozen=True)
class Where:
  """One condition, as it was said."""

  text: str
  tree: ast.expr = dataclasses.field(compare=False)


def where_of(place: str, text: Any, errors: list[str]) -> tuple[Where, ...]:
  """The condition that a text says; none, and lines, if it says no such thing.

  Args:
    place: where it was said.
  """
  if not isinstance(text, str):
    errors.append(
        f"{place}: expected a condition, such as 'strategy.chunk_size <= 512',"
        f" got {shown(text)}"
    )
    return ()
  try:
    tree = ast.parse(text.strip(), mode="eval").body
    wrong = list(dict.fromkeys(_mistakes(tree)))
  except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
    reason = getattr(error, "msg", None) or type(error).__name__
    tree, wrong = None, [f"not a condition: {reason}"]
  errors += [f"{place}={shown(text)}: {line}" for line in wrong]
  return () if wrong or tree is None else (Where(text, tree),)


def meeting(
    cells: Sequence[Asked], conditions: Sequence[Where]
) -> tuple[list[Asked], list[str]]:
  """The cells that meet all conditions; a line where that cannot be told."""
  errors: list[str] = []
  met = [c for c in cells if all(_holds(w, c, errors) for w in conditions)]
  if cells and not met and not errors:
    told = " and ".join(where.text for where in conditions)
    errors.append(f"sweep.where: no cell meets {told}")
  return met, errors[:1]


def _holds(where: Where, cell: Cell, errors: list[str]) -> bool:
  try:
    return bool(_value(where.tree, cell))
  except Withheld:  # a mistake elsewhere
    return True
  except (TypeError, ArithmeticError, ValueError, MemoryError):
    fields = ", ".join(
        f"{path} is {shown(cell.value(path))}"
        for path in dict.fromkeys(_paths(where.tree))
    )
    given = f" where {fields}" if fields else ""
    place = f" (in cell {cell.name})" if cell.name else ""
    errors.append(f"sweep.where: {where.text} has no answer{given}{place}")
    return True


def _value(node: ast.expr, cell: Cell) -> Any:
  match node:
    case ast.Constant(value=value):
      return value
    case ast.Tuple(elts=items) | ast.List(elts=items):
      return tuple(_value(item, cell) for item in items)
    case ast.Name() | ast.Attribute():
      path = _path(node)
      return _WORDS[path] if path in _WORDS else cell.value(path)
    case ast.UnaryOp(op=op, operand=operand):
      return _UNARY[type(op)](_value(operand, cell))
    case ast.BinOp(left=left, op=op, right=right):
      return _number(op, _value(left, cell), _value(right, cell))
    case ast.BoolOp(op=op, values=values):
      each = (bool(_value(value, cell)) for value in values)
      return all(each) if isinstance(op, ast.And) else any(each)
    case ast.Compare(left=left, ops=ops, comparators=rest):
      sides = [_value(side, cell) for side in (left, *rest)]
      return all(
          _COMPARED[type(op)](*pair)
          for op, *pair in zip(ops, sides, sides[1:], strict=False)
      )
  raise AssertionError(node)  # `_mistakes` has found it


def _number(op: ast.operator, left: Any, right: Any) -> int | float:
  """What two numbers give; texts and tuples would grow without a limit."""
  if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
    raise TypeError
  whole = [abs(side) for side in (left, right) if isinstance(side, int)]
  if sum(side.bit_length() for side in whole) > _LONGEST_BITS:
    raise OverflowError
  return _ARITHMETIC[type(op)](left, right)


def _mistakes(node: ast.expr) -> Iterator[str]:
  """What a condition may not have in it."""
  match node:
    case ast.Name() | ast.Attribute() if path := _path(node):
      yield from _no_field(path)
    case ast.Constant(value=int() | float() | str() | None):
      return
    case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
      yield from _mistakes(operand)
    case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
      for part in (left, right):
        yield from _mistakes(part)
        yield from _no_number(part)
    case (
        ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts)
    ):
      for part in parts:
        yield from _mistakes(part)
    case ast.Compare(left=left, comparators=rest):
      for part in (left, *rest):
        yield from _mistakes(part)
    case _:
      yield f"{ast.unparse(node)} cannot stand in a condition"


def _no_number(node: ast.expr) -> Iterator[str]:
  """A line if something can have no part in arithmetic, whatever the cell."""
  match node:
    case ast.Constant(value=str() | None) | ast.Tuple() | ast.List():
      yield f"+ - * / // % are for numbers, not for {ast.unparse(node)}"


def _no_field(path: str) -> list[str]:
  if path in _OWN or path in _WORDS:
    return []
  try:
    schema.hint_of(path)
  except ConfigError as error:
    return error.errors
  return []


def _path(node: ast.expr) -> str:
  """`a.b.c` of a name with attributes, else empty."""
  match node:
    case ast.Name(id=name):
      return name
    case ast.Attribute(value=value, attr=name):
      before = _path(value)
      return f"{before}.{name}" if before else ""
  return ""


def _paths(tree: ast.expr) -> Iterator[str]:
  """Fields a condition looks at."""
  for node in ast.walk(tree):
    if isinstance(node, (ast.Name, ast.Attribute)):
      path = _path(node)
      if path and not _no_field(path) and path not in _WORDS:
        if path in _OWN or "." in path:
          yield path

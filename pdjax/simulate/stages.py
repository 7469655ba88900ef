"""A step whose pages leave it layer by layer, and the times at which they do.

The layers share a step's time equally. After each group the pages of that group
are copied out for one transfer after the other, and the next layers begin when
that is done: so a step gets longer by all copies, and all but those of the last
group are over before it is.

Units: `_ps` integer picoseconds, `_bytes` bytes.
"""

import dataclasses


@dataclasses.dataclass(slots=True, eq=False)
class Leaving:
  """The groups of one transfer, each as a share of its layers."""

  transfer: int
  group_layers: int
  num_layers: int
  gather_ps: list[int] = dataclasses.field(default_factory=list)
  """Of each group."""
  gathered: int = 0
  """Groups that are off the source."""
  sent: int = 0
  """Groups that are off the link."""

  @property
  def groups(self) -> int:
    return -(-self.num_layers // self.group_layers)

  def done_layers(self, groups: int) -> int:
    return min(groups * self.group_layers, self.num_layers)

  def bytes_of(self, group: int, size_bytes: int) -> int:
    """Of a group; those of all groups add up to `size_bytes`."""
    before, after = (
        size_bytes * self.done_layers(end) // self.num_layers
        for end in (group, group + 1)
    )
    return after - before


@dataclasses.dataclass(slots=True, eq=False)
class Stages:
  """The transfers that leave one step; its layers end when they are told."""

  started_ps: int
  plain_ps: int
  """The step without the copies."""
  leaving: list[Leaving] = dataclasses.field(default_factory=list)

  def gathered_ps(self, which: Leaving) -> int:
    """When the next group of a transfer is off the source."""
    group = which.gathered
    computed_ps = self.plain_ps * which.done_layers(group + 1)
    at_ps = self.started_ps + computed_ps // which.num_layers
    at_ps += sum(sum(each.gather_ps[:group]) for each in self.leaving)
    before = self.leaving[: self.leaving.index(which) + 1]
    return at_ps + sum(each.gather_ps[group] for each in before)


"""Render the part of the spawn page that offers a spot container."""

from __future__ import annotations

from typing import Final

from jinja2 import Environment as Templates

from hai_spawner.spot.options import PRIORITIES, SpotOptions

#: Everything that is filled in is escaped. Plain HTML: the page must work without scripts of its own.
_TEMPLATE: Final = Templates(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
    """
<style>
  .hai-spot:has(#hai-spot:not(:checked)) .hai-spot-choices { display: none; }
  form:has(#hai-spot:checked) .hai-sizes { opacity: 0.5; pointer-events: none; }
</style>
<fieldset class="form-group hai-spot">
  <legend>Spot container</legend>
  {% if waiting %}
  <p class="alert alert-info">Task {{ waiting }} of this server waits for its turn, and the server comes back by itself
  when it has got it. Starting it now with the same choices shows its place in the queue; with others, or without spot,
  the place is given up.</p>
  {% endif %}
  <div class="form-check mb-3">
    <input class="form-check-input" type="checkbox" name="spot" id="hai-spot" {{ 'checked' if checked }}
           aria-describedby="hai-about-spot">
    <label class="form-check-label" for="hai-spot"><strong>Run on a training node</strong></label>
    <div id="hai-about-spot"><small>It waits in the queue of all tasks, and gives the node back when others need it: you
      see a countdown then and have {{ grace }} to save. What is on disk stays, what runs is lost. Sizes do not
      apply to it.</small></div>
  </div>
  <div class="hai-spot-choices">
    <div class="mb-3">
      <label for="hai-spot-gpus">GPUs</label>
      <input class="form-control" type="number" min="1" step="1" name="spot_gpus" id="hai-spot-gpus"
             placeholder="the whole node" value="{{ spot.gpus if spot.gpus is not none }}">
    </div>
    <div class="mb-3">
      <label for="hai-spot-priority">Priority</label>
      <select class="form-select" name="spot_priority" id="hai-spot-priority" aria-describedby="hai-about-priority">
        {% for priority in priorities %}
        <option value="{{ priority }}" {{ 'selected' if priority == spot.priority }}>{{ priority }}</option>
        {% endfor %}
      </select>
      <small id="hai-about-priority">The higher, the sooner it starts and the later it must leave, within your
        quota.</small>
    </div>
  </div>
</fieldset>
"""
)


def render_spot(spot: SpotOptions, *, checked: bool, waiting: int | None) -> str:
    """Return the fieldset as HTML.

    Args:
        spot: The last choice of the user, or the defaults.
        checked: Whether the spot container is selected.
        waiting: Id of this server's task that waits for its turn; None: there is none.
    """
    minutes = spot.grace_s / 60
    grace = f"{minutes:g} min" if minutes >= 1 else f"{spot.grace_s:g} s"
    return _TEMPLATE.render(spot=spot, checked=checked, waiting=waiting, priorities=PRIORITIES, grace=grace)

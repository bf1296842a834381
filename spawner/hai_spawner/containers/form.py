"""Render the part of the spawn page where a user chooses size and environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from jinja2 import Environment as Templates

from hai_client.wire.storage import ContainerEnvironment
from hai_spawner.containers.menu import SizeOption, standard

#: Everything that is filled in is escaped. Plain HTML: the page must work without scripts of its own.
_TEMPLATE: Final = Templates(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
    """
{% if notice %}
<p class="alert alert-warning">{{ notice }}</p>
{% endif %}
{% if offers %}
<fieldset class="form-group hai-sizes">
  <legend>Size</legend>
  {% if overall %}
  <p><small>{% for share in overall %} {{ share.sentence }}{% endfor %}</small></p>
  {% endif %}
  {% for offer in offers %}
  <div class="form-check mb-3">
    <input class="form-check-input" type="radio" name="profile" id="hai-size-{{ offer.size.name }}"
           value="{{ offer.size.name }}" aria-describedby="hai-about-{{ offer.size.name }}"
           {{ 'checked' if offer is sameas chosen }} {{ 'disabled' if offer.blocked }}>
    <label class="form-check-label" for="hai-size-{{ offer.size.name }}"><strong>{{ offer.size.title }}</strong></label>
    <div id="hai-about-{{ offer.size.name }}">
      {{ offer.size.summary }}{% if offer.size.description %} &middot; {{ offer.size.description }}{% endif %}<br>
      <small>
      {% if offer.blocked %}
        <span class="text-danger">Not now: {{ offer.reason }}.</span>
      {% elif offer.free is not none %}
        {{ offer.free }} could start now.
      {% endif %}
      {% for share in offer.own_shares %} {{ share.sentence }}{% endfor %}
      </small>
    </div>
  </div>
  {% endfor %}
</fieldset>
{% elif sized %}
<p class="alert alert-danger">There is no size that you may use: ask an administrator for one.</p>
{% endif %}
{% if environments %}
<div class="form-group">
  <label for="hai-environment">Environment</label>
  <select class="form-select" name="environment" id="hai-environment">
    <option value="">The usual one</option>
    {% for environment in environments %}
    <option value="{{ environment.name }}" {{ 'selected' if environment.name == selected }}>
      {{- environment.name }}{% if environment.description %}: {{ environment.description }}{% endif -%}
    </option>
    {% endfor %}
  </select>
</div>
{% endif %}
"""
)


def render(
    offers: Sequence[SizeOption],
    environments: Sequence[ContainerEnvironment],
    *,
    sized: bool,
    default: str = "",
    last: Mapping[str, str] | None = None,
    notice: str = "",
) -> str:
    """Return the content of the form as HTML.

    Args:
        offers: The sizes that the user may use.
        environments: The environments that the user may use.
        sized: Whether any sizes are configured.
        default: Name of the size that is selected if the user has not chosen one before.
        last: The user's last choice: `profile` and `environment`.
        notice: A warning above the form; empty: none.
    """
    before = last or {}
    chosen = None
    if offers:
        open_now = {offer.size.name: offer for offer in offers if offer.blocked is None}
        chosen = open_now.get(before.get("profile", "")) or open_now.get(default) or standard(offers)
    return _TEMPLATE.render(
        offers=offers,
        # The limits on all sizes together are the same in every offer.
        overall=offers[0].overall_shares if offers else (),
        environments=environments,
        sized=sized,
        chosen=chosen,
        selected=before.get("environment", ""),
        notice=notice,
    )

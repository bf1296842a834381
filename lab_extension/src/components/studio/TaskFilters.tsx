/** The filters of the table of tasks; all are in the address. */

import type { JSX } from 'react';
import { priorityLabel } from '../../text/words';
import { trans } from '../../text/translate';
import { Icon } from '../icons';
import { Select } from '../Select';
import { FILTERS, PRIORITY_CHOICES, STATES, type StateChoice } from './rows';
import type { Query } from './router';

export function TaskFilters(props: {
  query: Query;
  groups: readonly string[];
  admin: boolean;
  onChange: (words: Query) => void;
}): JSX.Element {
  const { query, groups, onChange } = props;
  const words: Record<StateChoice, string> = {
    live: trans.__('Not ended'),
    running: trans.__('Holding nodes'),
    waiting: trans.__('Waiting'),
    ended: trans.__('Ended'),
    failed: trans.__('Failed')
  };
  const starred = query.starred !== undefined;
  return (
    <div className="hai-Filters" role="search">
      <input
        className="hai-Filters-text jp-mod-styled"
        type="search"
        aria-label={trans.__('Filter tasks')}
        placeholder={trans.__('Name, number, tag, user…')}
        value={query.q ?? ''}
        onChange={event => onChange({ q: event.target.value })}
      />
      <Select
        className="hai-mod-small"
        aria-label={trans.__('State')}
        value={query.state ?? ''}
        onChange={event => onChange({ state: event.target.value })}
        options={[
          { value: '', label: trans.__('All states') },
          ...(Object.keys(STATES) as StateChoice[]).map(value => ({ value, label: words[value] }))
        ]}
      />
      <Select
        className="hai-mod-small"
        aria-label={trans.__('Priority')}
        value={query.priority ?? ''}
        onChange={event => onChange({ priority: event.target.value })}
        options={[
          { value: '', label: trans.__('All priorities') },
          ...PRIORITY_CHOICES.map(value => ({ value, label: priorityLabel(value) }))
        ]}
      />
      {groups.length > 1 && (
        <Select
          className="hai-mod-small"
          aria-label={trans.__('Node group')}
          value={query.group ?? ''}
          onChange={event => onChange({ group: event.target.value })}
          options={[
            { value: '', label: trans.__('All node groups') },
            ...groups.map(value => ({ value, label: value }))
          ]}
        />
      )}
      {props.admin && (
        <Select
          className="hai-mod-small"
          aria-label={trans.__('Whose tasks')}
          value={query.whose ?? ''}
          onChange={event => onChange({ whose: event.target.value })}
          options={[
            { value: '', label: trans.__('My tasks') },
            { value: 'all', label: trans.__('Tasks of all users') }
          ]}
        />
      )}
      <button
        className="hai-Button hai-mod-small"
        aria-pressed={starred}
        onClick={() => onChange({ starred: starred ? '' : '1' })}
      >
        <span aria-hidden="true">★</span> {trans.__('Starred')}
      </button>
      {query.tag !== undefined && (
        <button
          className="hai-Button hai-mod-small"
          aria-label={trans.__('Show tasks with other tags than %1 too', query.tag)}
          onClick={() => onChange({ tag: '' })}
        >
          {trans.__('Tag: %1', query.tag)} <Icon name="close" />
        </button>
      )}
      {FILTERS.some(word => query[word] !== undefined) && (
        <button
          className="hai-Link"
          onClick={() => onChange(Object.fromEntries(FILTERS.map(word => [word, ''])))}
        >
          {trans.__('Show all')}
        </button>
      )}
    </div>
  );
}

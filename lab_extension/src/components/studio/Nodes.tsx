/** The nodes: a map by group and leaf, one of them in full, and all as a table. Admins mark them here. */

import { useCallback, useMemo, useState, type JSX } from 'react';
import type { INode } from '../../api/types';
import { NodesModel } from '../../models/nodes';
import { csvOf, download } from '../../text/csv';
import { count, numberText } from '../../text/words';
import { trans } from '../../text/translate';
import { Select } from '../Select';
import { Notice, useSignal } from '../react';
import { useModel, useStudio } from './context';
import { NodeActions } from './nodes/NodeActions';
import { NodeDetail } from './nodes/NodeDetail';
import { NodeMap, Sign } from './nodes/NodeMap';
import { NodeTable } from './nodes/NodeTable';
import { countsOf, mapOf, nodeRows, nodesOf, stateWord } from './nodes/states';
import { changeQuery, useRouter, type Query } from './router';

const NONE: ReadonlySet<string> = new Set();

export function NodesPage(): JSX.Element {
  const { api, cluster, feed } = useStudio();
  useSignal(cluster.changed);
  const model = useModel(() => new NodesModel(api, feed));
  const router = useRouter();
  const { query } = router.route;
  const [chosen, setChosen] = useState(NONE);
  const admin = cluster.me?.admin === true;
  const shown = useMemo(() => nodesOf(model.items, query), [model.items, query]);
  const groups = useMemo(() => mapOf(shown), [shown]);
  // What a filter hides is chosen no more: nobody marks a node that they do not see.
  const marked = useMemo(() => shown.filter(node => chosen.has(node.name)), [shown, chosen]);
  const names = useMemo(() => new Set(marked.map(node => node.name)), [marked]);
  const change = useCallback((words: Query) => changeQuery(router, words), [router]);
  const [one] = marked;
  return (
    <div className="hai-NodesPage">
      <header className="hai-Studio-head">
        <h1>{trans.__('Nodes')}</h1>
        <span className="hai-Soft" role="status">
          {model.ready
            ? trans.__('%1 of %2', numberText(shown.length), count(model.items.length, 'node'))
            : model.error === null && trans.__('Loading…')}
        </span>
      </header>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      {model.ready && model.items.length === 0 && (
        <p className="hai-Empty">{trans.__('There are no nodes yet.')}</p>
      )}
      {model.items.length > 0 && <Filters items={model.items} query={query} onChange={change} />}
      {admin && marked.length > 0 && (
        <NodeActions
          chosen={marked}
          onDone={() => {
            setChosen(NONE);
            void model.refresh();
          }}
          onNone={() => setChosen(NONE)}
        />
      )}
      {groups.map(({ group, leaves }) => (
        <section key={group} className="hai-Card" aria-label={trans.__('Node group %1', group)}>
          <h2>
            {group}{' '}
            <span className="hai-Soft">
              {count(
                leaves.reduce((all, leaf) => all + leaf.nodes.length, 0),
                'node'
              )}
            </span>
          </h2>
          <NodeMap group={group} leaves={leaves} chosen={names} many={admin} onChoose={setChosen} />
        </section>
      ))}
      {marked.length === 1 && one && <NodeDetail node={one} />}
      {model.ready && model.items.length > 0 && shown.length === 0 && (
        <p className="hai-Empty">{trans.__('No node matches these filters.')}</p>
      )}
      {shown.length > 0 && (
        <>
          <NodeTable
            nodes={shown}
            sort={query.sort}
            chosen={names}
            many={admin}
            onSort={sort => change({ sort })}
            onChoose={setChosen}
          />
          <button className="hai-Link" onClick={() => save(shown)}>
            {trans.__('Save as CSV')}
          </button>
        </>
      )}
    </div>
  );
}

function save(nodes: readonly INode[]): void {
  const { head, rows } = nodeRows(nodes);
  download('hai-nodes.csv', csvOf(head, rows));
}

/** The legend of the map is its filter by state. */
function Filters(props: {
  items: readonly INode[];
  query: Query;
  onChange: (words: Query) => void;
}): JSX.Element {
  const { items, query, onChange } = props;
  const groups = useMemo(() => [...new Set(items.map(node => node.group))].sort(), [items]);
  const counts = useMemo(() => countsOf(nodesOf(items, query, false)), [items, query]);
  return (
    <div className="hai-Filters" role="search">
      <input
        className="hai-Filters-text jp-mod-styled"
        type="search"
        aria-label={trans.__('Filter nodes')}
        placeholder={trans.__('Node, leaf, task, user…')}
        value={query.q ?? ''}
        onChange={event => onChange({ q: event.target.value })}
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
      <span className="hai-Map-legend" role="group" aria-label={trans.__('State')}>
        {counts.map(([state, n]) => (
          <button
            key={state}
            className="hai-Button hai-mod-small"
            aria-pressed={query.state === state}
            onClick={() => onChange({ state: query.state === state ? '' : state })}
          >
            <svg
              className={`hai-Map-node hai-mod-${state}`}
              width="14"
              height="14"
              viewBox="-1 -1 19 19"
              aria-hidden="true"
            >
              <Sign state={state} busy={false} />
            </svg>
            {stateWord(state)} <b>{numberText(n)}</b>
          </button>
        ))}
        {query.state !== undefined && (
          <button className="hai-Link" onClick={() => onChange({ state: '' })}>
            {trans.__('All states')}
          </button>
        )}
      </span>
    </div>
  );
}

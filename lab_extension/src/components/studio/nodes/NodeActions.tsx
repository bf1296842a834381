/** What an admin can do to the chosen nodes: cordon, drain and uncordon, with what it would do before it is done. */

import { useState, type JSX } from 'react';
import { MOST, type NodeAction } from '../../../api/operations';
import { sentenceOf } from '../../../api/request';
import type { INode } from '../../../api/types';
import { trans } from '../../../text/translate';
import { numberText } from '../../../text/words';
import { useHost } from '../../host';
import { useStudio } from '../context';
import { markAll, markedText, markOf, markQuestion, nodeActionLabel, NODE_ACTIONS, suitsNode } from './marks';

export function NodeActions(props: {
  chosen: readonly INode[];
  /** Nodes have changed. */
  onDone: () => void;
  onNone: () => void;
}): JSX.Element {
  const { chosen } = props;
  const { api } = useStudio();
  const host = useHost();
  const [busy, setBusy] = useState('');
  const agreed = async (action: NodeAction, names: readonly string[]): Promise<boolean> => {
    const mark = markOf(action);
    if (mark === null) {
      return true;
    }
    setBusy(trans.__('Computing what this would do…'));
    const preview = await api.operations.preview(names, mark);
    setBusy('');
    return host.confirm(markQuestion(preview));
  };
  const act = async (action: NodeAction, nodes: readonly INode[]): Promise<void> => {
    const names = nodes.map(node => node.name);
    try {
      if (await agreed(action, names)) {
        setBusy(trans.__('Changing %1…', numberText(names.length)));
        const result = await markAll(api.operations, action, names);
        host.notify(result.failures.length > 0 ? 'error' : 'info', markedText(action, result));
        props.onDone();
      }
    } catch (error) {
      host.notify('error', sentenceOf(error));
    }
    setBusy('');
  };
  const tooMany = chosen.length > MOST.nodes;
  return (
    <div className="hai-Bulk" role="toolbar" aria-label={trans.__('Chosen nodes')}>
      <b>{trans._n('%1 chosen', '%1 chosen', chosen.length)}</b>
      {NODE_ACTIONS.map(action => {
        const nodes = chosen.filter(node => suitsNode(action, node));
        return nodes.length === 0 ? null : (
          <button
            key={action}
            className={`hai-Button ${action === 'drain' ? 'hai-mod-danger' : ''}`}
            disabled={busy !== '' || tooMany}
            onClick={() => void act(action, nodes)}
          >
            {nodeActionLabel(action, nodes.length)}
          </button>
        );
      })}
      {tooMany && <span>{trans.__('Choose at most %1 nodes at once.', numberText(MOST.nodes))}</span>}
      <span role="status">{busy}</span>
      <button className="hai-Link" onClick={props.onNone}>
        {trans.__('Choose none')}
      </button>
    </div>
  );
}
